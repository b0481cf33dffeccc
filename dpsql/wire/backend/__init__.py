"""The wire's own sessions in the shadow."""
