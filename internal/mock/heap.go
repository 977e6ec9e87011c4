package mock

// tokenHeap is a binary heap of delayed exchanges, by due time. Exchanges with equal due times are in no particular
// order.
type tokenHeap struct {
	items []dueToken
}

type dueToken struct {
	due int64
	tok uint32
}

// first returns the earliest; the heap must not be empty.
func (h *tokenHeap) first() uint32 { return h.items[0].tok }

func (h *tokenHeap) push(tok uint32, due int64) {
	h.items = append(h.items, dueToken{})
	i := len(h.items) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h.items[up].due <= due {
			break
		}
		h.items[i] = h.items[up]
		i = up
	}
	h.items[i] = dueToken{due, tok}
}

func (h *tokenHeap) pop() {
	n := len(h.items) - 1
	last := h.items[n]
	h.items = h.items[:n]
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if right := child + 1; right < n && h.items[right].due < h.items[child].due {
			child = right
		}
		if last.due <= h.items[child].due {
			break
		}
		h.items[i] = h.items[child]
		i = child
	}
	if n > 0 {
		h.items[i] = last
	}
}
