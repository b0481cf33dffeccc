"""What planning asks the shadow: what a query means, and which values its constants have."""
