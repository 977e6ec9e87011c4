package shards

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// changes are those of the run record.
type changes struct {
	// list has them in their order, oldest first. It is never empty.
	list []runnerv1alpha1.Update
	// accepted is the last revision of them, settled the last that every runner has.
	accepted, settled int64
	// applied are the last ones that every runner has.
	applied []Applied
}

func (c *changes) newest() *runnerv1alpha1.Update { return &c.list[len(c.list)-1] }

// beforeStart is the last change before the start. A runner that connects later begins with it, too,
// and gets the others with its start.
func (c *changes) beforeStart() *runnerv1alpha1.Update {
	out := &c.list[0]
	for i := range c.list {
		if c.list[i].At == 0 {
			out = &c.list[i]
		}
	}
	return out
}

// missed are the changes that a runner which starts does not have.
func (c *changes) missed(revision int64) []runnerv1alpha1.Update {
	var out []runnerv1alpha1.Update
	for _, u := range c.list {
		if u.At != 0 && u.Revision > revision {
			out = append(out, u)
		}
	}
	return out
}

// after is the oldest change after a revision that was made after the start, or before it; nil: none.
func (c *changes) after(revision int64, start bool) *runnerv1alpha1.Update {
	for i := range c.list {
		if u := &c.list[i]; u.Revision > revision && (u.At != 0) == start {
			return u
		}
	}
	return nil
}

// joinedWith is the revision of the change that gave a member its share. Later ones, which name the shard too, give
// nothing to another runner that has the index since.
func (c *changes) joinedWith(i int) (revision int64) {
	for _, u := range slices.Backward(c.list) {
		if !slices.Contains(u.Members, i) {
			break
		}
		if revision = u.Revision; u.At == 0 { // before the start, each change replaces all shares
			break
		}
	}
	return revision
}

// leftWith is the revision of the change that took the share of a shard.
func (c *changes) leftWith(i int) (revision int64) {
	for _, u := range slices.Backward(c.list) {
		if slices.Contains(u.Members, i) {
			break
		}
		revision = u.Revision
	}
	return revision
}

// settle finds the changes that every runner accepted, and returns whether there are any. The start is an offset from
// zero; 0: it is not chosen yet.
func (c *changes) settle(all runners, zero time.Time, start int64) (found bool) {
	for i := range c.list {
		u := &c.list[i]
		if u.Revision <= c.settled {
			continue
		}
		if u.At != 0 && start == 0 || !all.have(u.Revision) {
			break
		}
		c.settled, found = u.Revision, true
		if u.At != 0 {
			c.applied = append(c.applied, Applied{Generation: u.Generation, Members: u.Members,
				At: zero.Add(time.Duration(start + u.At)), Since: time.Duration(u.At)})
		}
	}
	c.applied = c.applied[max(0, len(c.applied)-maxApplied):]
	return found
}
