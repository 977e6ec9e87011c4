package notifier

import (
	"time"

	"github.com/h2surge/h2surge/internal/mock/rules"
)

// item is a notification that has not been sent yet.
type item struct {
	rules.Notification
	due   time.Time
	seq   uint64 // of items with the same due time, the lowest is sent first
	epoch uint32 // of the counts, when the request arrived
}

// queue is a heap of items by due time, for package heap.
type queue []*item

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if q[i].due.Equal(q[j].due) {
		return q[i].seq < q[j].seq
	}
	return q[i].due.Before(q[j].due)
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { *q = append(*q, x.(*item)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	n := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return n
}
