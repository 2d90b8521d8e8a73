//! Fixed-size store for one-minute readings. When full, the oldest goes.

/// A ring of at most `N` values.
#[derive(Debug, Clone)]
pub struct RingBuffer<T, const N: usize> {
    slots: [Option<T>; N],
    head: usize,
    len: usize,
    overwritten: u64,
}

impl<T: Copy, const N: usize> RingBuffer<T, N> {
    /// An empty ring. `N` must not be zero.
    pub fn new() -> Self {
        assert!(N > 0, "a ring needs at least one slot");
        Self { slots: [None; N], head: 0, len: 0, overwritten: 0 }
    }

    /// Appends a value and hands back the one it pushed out, if any.
    pub fn push_evicting(&mut self, value: T) -> Option<T> {
        let tail = (self.head + self.len) % N;
        let evicted = self.slots[tail].replace(value);
        if self.len == N {
            self.head = (self.head + 1) % N;
            self.overwritten += 1;
        } else {
            self.len += 1;
        }
        evicted
    }

    /// Takes the oldest value out.
    pub fn pop_oldest(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.slots[self.head].take();
        self.head = (self.head + 1) % N;
        self.len -= 1;
        value
    }

    /// Oldest first.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len).filter_map(move |i| self.slots[(self.head + i) % N])
    }

    /// How many readings were lost because nobody fetched them in time.
    pub fn overwritten_count(&self) -> u64 {
        self.overwritten
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T: Copy, const N: usize> Default for RingBuffer<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::RingBuffer;

    #[test]
    fn oldest_goes_first() {
        let mut ring: RingBuffer<u8, 2> = RingBuffer::new();
        assert_eq!(ring.push_evicting(1), None);
        assert_eq!(ring.push_evicting(2), None);
        assert_eq!(ring.push_evicting(3), Some(1));
        assert_eq!(ring.iter().collect::<Vec<_>>(), vec![2, 3]);
        assert_eq!(ring.overwritten_count(), 1);
    }
}
