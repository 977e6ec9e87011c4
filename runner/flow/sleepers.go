package flow

// Wake makes the steps ready whose pauses are over.
func (f *Flow) Wake(now int64) {
	f.fresh = false
	for a, ok := f.sleepers.Take(now); ok; a, ok = f.sleepers.Take(now) {
		f.makeReady(a)
	}
}

// Next returns when the next pause ends, or now if a step needs no slot and has become ready since the last call of
// Wake.
func (f *Flow) Next() int64 {
	if f.fresh {
		return f.now
	}
	return f.sleepers.Next()
}

// Sleeps returns whether a step is in a pause.
func (f *Flow) Sleeps() bool { return f.sleepers.Len() > 0 }
