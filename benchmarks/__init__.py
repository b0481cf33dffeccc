"""What dpsql claims about speed and error, measured."""
