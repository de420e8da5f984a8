"""Tests of rocketns alone: units, properties, behaviour over real sockets, golden bytes, layering and tidiness."""
