//! Asking for memory before it is needed.

/// Begins to load the cache line of `place`. It never waits, unlike a load whose
/// value nobody needs: that one holds up the processor's window of instructions
/// until its memory has come.
#[inline(always)]
pub(super) fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; it reads nothing and cannot fault, and every x86-64
        // processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        std::hint::black_box(std::ptr::from_ref(place));
    }
}
