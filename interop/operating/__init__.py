"""What operators use: mqadmin, rocketns' commands, files, health check, comparison of name servers, audit."""
