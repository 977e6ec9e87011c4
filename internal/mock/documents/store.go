// Package documents stores the JSON documents that a target's rules create: collections of documents by id, in the
// order of their creation, with a bound on their number and their bytes.
package documents

import "errors"

// DefaultMax is the default number of documents that a Store can hold.
const DefaultMax = 1_000_000

// maxBytes bounds all documents of a Store together.
const maxBytes = 1 << 30

// ErrFull means that a document exceeds a limit of the Store, ErrExists that its id is in use.
var (
	ErrFull   = errors.New("documents: the limit is reached")
	ErrExists = errors.New("documents: the id exists already")
)

// Store stores documents. Only one goroutine may use it.
type Store struct {
	max, n      int
	bytes       int
	collections map[string]*Collection
	last        change
}

// change is what Undo takes back. The zero value is no change.
type change struct {
	kind changeKind
	in   *Collection
	of   *document
	// before is the content that was replaced.
	before []byte
}

type changeKind uint8

const (
	unchanged changeKind = iota
	created
	replaced
	deleted
)

// Collection is a set of documents with ids of their own.
type Collection struct {
	store          *Store
	byID           map[string]*document
	oldest, newest *document
}

type document struct {
	id         string
	content    []byte
	prev, next *document
}

// New returns an empty store for at most max documents.
func New(max int) *Store {
	return &Store{max: max, collections: map[string]*Collection{}}
}

// Len is the number of documents in all collections.
func (s *Store) Len() int { return s.n }

// Commit keeps the last change.
func (s *Store) Commit() { s.last = change{} }

// Undo takes back the last change, unless Commit has kept it. A document that was deleted has its place again.
func (s *Store) Undo() {
	u := s.last
	s.last = change{}
	switch u.kind {
	case created:
		u.in.remove(u.of)
	case replaced:
		u.in.set(u.of, u.before)
	case deleted:
		u.in.insert(u.of)
	}
}

// Collection returns the collection of that name. The first call creates it.
func (s *Store) Collection(name string) *Collection {
	c := s.collections[name]
	if c == nil {
		c = &Collection{store: s, byID: map[string]*document{}}
		s.collections[name] = c
	}
	return c
}

// Len is the number of documents in the collection.
func (c *Collection) Len() int { return len(c.byID) }

// Get returns a document, which the caller must not change. Later calls do not change it either.
func (c *Collection) Get(id []byte) (content []byte, ok bool) {
	d := c.byID[string(id)]
	if d == nil {
		return nil, false
	}
	return d.content, true
}

// Create adds a copy of content. It returns ErrExists or ErrFull.
func (c *Collection) Create(id, content []byte) error {
	if c.byID[string(id)] != nil {
		return ErrExists
	}
	if c.store.n >= c.store.max || !c.store.fits(len(id)+len(content)) {
		return ErrFull
	}
	d := &document{id: string(id), content: append([]byte{}, content...), prev: c.newest}
	c.insert(d)
	c.store.last = change{kind: created, in: c, of: d}
	return nil
}

// insert adds a document between prev and next, which it has already.
func (c *Collection) insert(d *document) {
	if d.prev == nil {
		c.oldest = d
	} else {
		d.prev.next = d
	}
	if d.next == nil {
		c.newest = d
	} else {
		d.next.prev = d
	}
	c.byID[d.id] = d
	c.store.n++
	c.store.bytes += len(d.id) + len(d.content)
}

// Replace replaces a document by a copy of content. ok is false if the document does not exist. The error is ErrFull.
func (c *Collection) Replace(id, content []byte) (ok bool, err error) {
	d := c.byID[string(id)]
	if d == nil {
		return false, nil
	}
	if !c.store.fits(len(content) - len(d.content)) {
		return true, ErrFull
	}
	c.store.last = change{kind: replaced, in: c, of: d, before: d.content}
	c.set(d, append([]byte{}, content...))
	return true, nil
}

func (c *Collection) set(d *document, content []byte) {
	c.store.bytes += len(content) - len(d.content)
	d.content = content
}

// Delete deletes a document. It returns false if the document does not exist.
func (c *Collection) Delete(id []byte) bool {
	d := c.byID[string(id)]
	if d == nil {
		return false
	}
	c.remove(d)
	c.store.last = change{kind: deleted, in: c, of: d}
	return true
}

// remove takes a document out, which keeps prev and next for insert.
func (c *Collection) remove(d *document) {
	if d.prev == nil {
		c.oldest = d.next
	} else {
		d.prev.next = d.next
	}
	if d.next == nil {
		c.newest = d.prev
	} else {
		d.next.prev = d.prev
	}
	delete(c.byID, d.id)
	c.store.n--
	c.store.bytes -= len(d.id) + len(d.content)
}

// Each calls f for each document, oldest first, until it returns false. f must not change the
// collection.
func (c *Collection) Each(f func(id string, content []byte) bool) {
	for d := c.oldest; d != nil && f(d.id, d.content); d = d.next {
	}
}

func (s *Store) fits(more int) bool { return s.bytes+more <= maxBytes }
