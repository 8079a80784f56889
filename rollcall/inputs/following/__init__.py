"""What followers of growing recordings share."""
