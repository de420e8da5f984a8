"""`rocketns collect`: watches name servers from outside and writes for each the journal that rocketns writes itself."""
