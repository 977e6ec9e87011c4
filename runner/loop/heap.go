package loop

// dueHeap is a binary heap of what comes due at an instant, the earliest first.
type dueHeap[T interface{ due() int64 }] []T

func (h *dueHeap[T]) push(v T) {
	*h = append(*h, v)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if a[up].due() <= a[i].due() {
			return
		}
		a[up], a[i] = a[i], a[up]
		i = up
	}
}

func (h *dueHeap[T]) pop() T {
	a := *h
	top := a[0]
	last := len(a) - 1
	a[0] = a[last]
	*h = a[:last]
	a = *h
	for i := 0; ; {
		least := i
		for _, k := range [2]int{2*i + 1, 2*i + 2} {
			if k < len(a) && a[k].due() < a[least].due() {
				least = k
			}
		}
		if least == i {
			return top
		}
		a[least], a[i] = a[i], a[least]
		i = least
	}
}

// next is when the first comes due, or never.
func (h dueHeap[T]) next() int64 {
	if len(h) == 0 {
		return never
	}
	return h[0].due()
}
