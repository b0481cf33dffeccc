"""What releases say of measurements that were not made: post-processing, which costs nothing."""
