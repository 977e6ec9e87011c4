package v1alpha1

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// MediaTypeSnapshot is the media type of a Snapshot in its binary form. A runner answers with it if the request accepts
// it, and with JSON otherwise. The binary form is the Snapshot as JSON, without the counts of distributions, and then
// these counts, of each distribution that has some:
//
//	document  length of the JSON document (4 octets, big endian), JSON document
//	counts    length (4 octets, big endian), Histogram.Counts; in the order of Snapshot.distributions
//
// Another list of distributions needs another media type, because a reader must know all of them. A runner and an
// operator of different versions then use JSON.
const MediaTypeSnapshot = "application/vnd.h2surge.snapshot.v2"

// maxCounts bounds the counts of one distribution: 23,552 counters of at most 9 octets.
const maxCounts = 256 << 10

// distributions calls f for each distribution, in the order of the fields, until f returns false.
func (s *Snapshot) distributions(f func(*Histogram) bool) {
	for _, h := range []*Histogram{&s.ResponseTime, &s.Lag, &s.ServiceTime} {
		if !f(h) {
			return
		}
	}
	for i := range s.Steps {
		for _, d := range s.Steps[i].Distributions() {
			if !f(d) {
				return
			}
		}
	}
	for i := range s.Targets {
		for _, d := range s.Targets[i].Distributions() {
			if !f(d) {
				return
			}
		}
	}
	for i := range s.Selections {
		if !f(&s.Selections[i].Time) {
			return
		}
	}
	if h := s.Histograms; h != nil {
		for _, d := range []*Histogram{&h.ServiceTime, &h.TimeToFirstByte, &h.Lag, &h.Reconnecting, &h.Blocked, &h.Connect} {
			if !f(d) {
				return
			}
		}
	}
}

// AppendBinary appends the binary form of the snapshot. It does not change the snapshot.
func (s *Snapshot) AppendBinary(to []byte) ([]byte, error) {
	document := *s
	document.Steps, document.Targets, document.Selections = slices.Clone(s.Steps), slices.Clone(s.Targets),
		slices.Clone(s.Selections)
	if s.Histograms != nil {
		h := *s.Histograms
		document.Histograms = &h
	}
	var counts [][]byte
	size := 0
	for h := range document.distributions {
		if h.Count != 0 {
			counts = append(counts, h.Counts)
			size += 4 + len(h.Counts)
			h.Counts = nil
		}
	}
	text, err := json.Marshal(&document)
	if err != nil {
		return to, err
	}
	to = slices.Grow(to, 4+len(text)+size)
	to = append(binary.BigEndian.AppendUint32(to, uint32(len(text))), text...)
	for _, c := range counts {
		to = append(binary.BigEndian.AppendUint32(to, uint32(len(c))), c...)
	}
	return to, nil
}

// documents are buffers for JSON documents.
var documents = sync.Pool{New: func() any { return new([]byte) }}

// ReadBinary reads the binary form into the snapshot, to the end of the stream, which has at most size octets. It does
// not check the counts.
func (s *Snapshot) ReadBinary(from io.Reader, size int64) error {
	buffer := documents.Get().(*[]byte)
	defer documents.Put(buffer)
	text, err := readPart(from, min(size, maxDocument), *buffer)
	*buffer = text
	if err != nil {
		return err
	}
	if err := UnmarshalSnapshot(text, s); err != nil {
		return err
	}
	left := size - int64(len(text))
	for h := range s.distributions {
		if h.Count == 0 {
			continue
		}
		if h.Counts, err = readPart(from, min(left, maxCounts), nil); err != nil {
			return err
		}
		left -= int64(len(h.Counts))
	}
	var one [1]byte
	if _, err := io.ReadFull(from, one[:]); !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("octets after the last distribution"), err)
	}
	return nil
}

// readPart reads a length and as many octets.
func readPart(from io.Reader, most int64, into []byte) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return into, unexpected(err)
	}
	n := binary.BigEndian.Uint32(length[:])
	if int64(n) > most {
		return into, fmt.Errorf("a part has %d octets; allowed: at most %d", n, most)
	}
	into = slices.Grow(into[:0], int(n))[:n]
	_, err := io.ReadFull(from, into)
	return into, unexpected(err)
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
