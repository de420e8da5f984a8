#!/bin/sh
exec ./run "$@"
