"""What all archives of a process share: used by several threads, in forked processes, and by destructors."""
import collections
import os
import threading
import weakref


class Forked:
    """A thing with a lock. One that another thread held stays locked in a forked child, so that gets a new one."""

    def __init__(self):
        self._lock = threading.Lock()
        everything.add(self)

    def after_fork(self):
        self._lock = threading.Lock()


class Shared(Forked):
    """Things that belong to owners. A subclass has _forget, which gives up what belongs to one, with the lock held.

    A destructor can run at any place of the program, also where this thread holds the lock. So it only notes what is
    gone, unless the lock is free.
    """

    def __init__(self):
        super().__init__()
        self.gone = collections.deque()
        self.close = []                        # descriptors to close when the lock is free again

    def __enter__(self):
        self._lock.acquire()
        self._sweep()

    def __exit__(self, *_):
        close, self.close = self.close, []
        self._lock.release()
        for fd in close:
            os.close(fd)

    def _sweep(self):
        while self.gone:
            self._forget(self.gone.popleft())

    def forget(self, owner):
        """Notes that an owner is gone. For destructors."""
        self.gone.append(owner)
        if self._lock.acquire(blocking=False):
            try:
                self._sweep()
            finally:
                self.__exit__()


everything = weakref.WeakSet()


def after_fork():
    for shared in list(everything):
        shared.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork)
