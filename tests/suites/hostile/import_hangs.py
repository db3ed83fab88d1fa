import time

time.sleep(3600)

KERNEL = None
