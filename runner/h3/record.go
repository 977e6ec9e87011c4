package h3

import "encoding/binary"

// Kind is what a record means.
type Kind uint8

const (
	// Credit: the transport has opened a request stream, and has sent nothing on it. A request may use it.
	Credit Kind = iota + 1
	// Data has octets of the response on a request stream. With Fin, they are the last ones.
	Data
	// Reset: the peer has reset a request stream with Code (RFC 9000 19.4).
	Reset
	// Peer has octets of a unidirectional stream of the peer, whose number is in Stream.
	Peer
	// PeerReset: the peer has reset its unidirectional stream with Code.
	PeerReset
	// Early: the handshake is not complete, and requests may be sent as early data (RFC 9001 4.6). It comes first.
	Early
	// Handshaken: the handshake is complete. Code is one of NewSession and the next ones.
	Handshaken

	// Request has a whole request for the stream of a Credit.
	Request
	// Cancel: the session wants nothing more of a request stream, and sends no more on it. The transport resets both
	// directions with Code. It may come before the Request of the stream.
	Cancel
	// Control has octets for the control stream of the session.
	Control
	// Close ends the connection with Code. Its octets are the reason.
	Close
)

// The codes of Handshaken.
const (
	// NewSession: the handshake resumed no session of TLS.
	NewSession = iota
	// Resumed: it resumed a session.
	Resumed
	// AcceptedEarly: it resumed a session, and the server accepted the early data.
	AcceptedEarly
)

// Record is a unit of what a session and its transport exchange. Credit to Handshaken go to the session, and the others
// go to the transport.
type Record struct {
	Kind Kind
	Fin  bool
	// Early: the transport may send the Request as early data. If it is false, the request waits for the handshake.
	Early bool
	// Slot is the place of a request stream, which the transport chooses: a number below the bound on concurrent streams.
	Slot uint32
	// Stream is the number of the stream: a quarter of its id (RFC 9000 2.1). A slot may have a new stream before the
	// session has taken all records of the one before.
	Stream uint32
	// Code is the code of Reset, PeerReset, Cancel and Close.
	Code uint32
	Data []byte
}

// RecordLen is the length of a record without its Data, in octets.
const RecordLen = 20

// The flags of a record.
const (
	flagFin = 1 << iota
	flagEarly
)

// AppendRecord appends a record.
func AppendRecord(dst []byte, r *Record) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, RecordLen)...)
	putRecord(dst[at:], r, len(r.Data))
	return append(dst, r.Data...)
}

func putRecord(p []byte, r *Record, length int) {
	p[0], p[1] = byte(r.Kind), 0
	if r.Fin {
		p[1] = flagFin
	}
	if r.Early {
		p[1] |= flagEarly
	}
	binary.LittleEndian.PutUint32(p[4:], r.Slot)
	binary.LittleEndian.PutUint32(p[8:], r.Stream)
	binary.LittleEndian.PutUint32(p[12:], r.Code)
	binary.LittleEndian.PutUint32(p[16:], uint32(length))
}

// recordLen returns the length of the record at the begin of p, or RecordLen if p has less than that.
func recordLen(p []byte) int {
	if len(p) < RecordLen {
		return RecordLen
	}
	return RecordLen + int(binary.LittleEndian.Uint32(p[16:]))
}

// NextRecord returns the record at the begin of p, and its length. The length is 0 if p has not all of it.
func NextRecord(p []byte) (r Record, n int) {
	if n = recordLen(p); len(p) < n {
		return r, 0
	}
	return Record{
		Kind: Kind(p[0]), Fin: p[1]&flagFin != 0, Early: p[1]&flagEarly != 0,
		Slot: binary.LittleEndian.Uint32(p[4:]), Stream: binary.LittleEndian.Uint32(p[8:]),
		Code: binary.LittleEndian.Uint32(p[12:]), Data: p[RecordLen:n:n],
	}, n
}
