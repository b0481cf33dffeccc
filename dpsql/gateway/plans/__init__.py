"""From a bound statement to what has to be measured for it, scope by scope."""
