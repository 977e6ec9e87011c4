package hpack

import (
	"bytes"
	"errors"
	"testing"
)

// TestEqualBlocks: a block that is equal to the one before has other fields if the table has changed.
func TestEqualBlocks(t *testing.T) {
	d := newDecoder(1 << 16)
	response := []byte{0x88, 0xbe} // status 200 and the newest entry
	long := append(bytes.Repeat([]byte{0xbe}, 100), response...)
	length := func(v string) []byte { return AppendLiteral(nil, Incremental, 28, "content-length", v) }
	for i, tt := range []struct {
		block []byte
		want  Summary
	}{
		{length("5"), Summary{ContentLength: 5}},
		{response, Summary{Status: 200, ContentLength: 5}},
		{response, Summary{Status: 200, ContentLength: 5}},
		{length("7"), Summary{ContentLength: 7}},
		{response, Summary{Status: 200, ContentLength: 7}},
		{nil, Summary{ContentLength: -1}},
		{response, Summary{Status: 200, ContentLength: 7}},
		{response[:1], Summary{Status: 200, ContentLength: -1}},
		{response, Summary{Status: 200, ContentLength: 7}},
		{long, Summary{Status: 200, ContentLength: 7, Malformed: true}}, // a status after a regular field
		{response, Summary{Status: 200, ContentLength: 7}},
	} {
		got, err := d.decode(tt.block, nil)
		if err != nil || got.Status != tt.want.Status || got.ContentLength != tt.want.ContentLength ||
			got.Malformed != tt.want.Malformed {
			t.Errorf("block %d: %+v, %v; want %+v", i, got, err, tt.want)
		}
	}
	d.Limit(0)
	if _, err := d.decode(response, nil); !errors.Is(err, ErrTableSize) {
		t.Errorf("without the table size update that is due: %v", err)
	}
	if _, err := d.decode([]byte{0x20, 0x88}, nil); err != nil {
		t.Error(err)
	}
	if _, err := d.decode(response, nil); !errors.Is(err, ErrIndex) {
		t.Errorf("from an empty table: %v", err)
	}
}
