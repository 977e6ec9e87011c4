package h2

// Windows of RFC 9113 5.2 and 6.9, in octets. A send window may be negative after
// the peer lowered SETTINGS_INITIAL_WINDOW_SIZE (6.9.2), so all are signed.
const (
	initialWindowSize = 1<<16 - 1
	maxWindow         = 1<<31 - 1
)

// widen adds to a send window. It returns false if the result would be above
// 2^31-1 (RFC 9113 6.9.1).
func widen(window *int32, by int64) bool {
	n := int64(*window) + by
	if n > maxWindow {
		return false
	}
	*window = int32(n)
	return true
}

// refill returns the WINDOW_UPDATE to send for a receive window of the given size:
// 0 until half of it is used, then all that is used. So updates are few, and a
// sender whose window is more than half open does not stop.
func refill(window *int32, size int32) (increment uint32) {
	if *window > size/2 {
		return 0
	}
	increment = uint32(size - *window)
	*window = size
	return increment
}
