package protocol

import "golang.org/x/net/http2"

// The codes of HTTP/3 (RFC 9114 8.1, RFC 9204 6). They differ from all codes of HTTP/2, so that one type is enough.
const (
	H3NoError              http2.ErrCode = 0x100
	H3StreamCreationError  http2.ErrCode = 0x103
	H3ClosedCriticalStream http2.ErrCode = 0x104
	H3FrameUnexpected      http2.ErrCode = 0x105
	H3FrameError           http2.ErrCode = 0x106
	H3ExcessiveLoad        http2.ErrCode = 0x107
	H3IDError              http2.ErrCode = 0x108
	H3SettingsError        http2.ErrCode = 0x109
	H3MissingSettings      http2.ErrCode = 0x10a
	H3RequestRejected      http2.ErrCode = 0x10b
	H3RequestCancelled     http2.ErrCode = 0x10c
	H3MessageError         http2.ErrCode = 0x10e
	QPACKDecompression     http2.ErrCode = 0x200
	QPACKEncoderStream     http2.ErrCode = 0x201
	QPACKDecoderStream     http2.ErrCode = 0x202
)

// h3Names are the names from H3NoError on.
var h3Names = [...]string{
	"H3_NO_ERROR", "H3_GENERAL_PROTOCOL_ERROR", "H3_INTERNAL_ERROR", "H3_STREAM_CREATION_ERROR",
	"H3_CLOSED_CRITICAL_STREAM", "H3_FRAME_UNEXPECTED", "H3_FRAME_ERROR", "H3_EXCESSIVE_LOAD", "H3_ID_ERROR",
	"H3_SETTINGS_ERROR", "H3_MISSING_SETTINGS", "H3_REQUEST_REJECTED", "H3_REQUEST_CANCELLED", "H3_REQUEST_INCOMPLETE",
	"H3_MESSAGE_ERROR", "H3_CONNECT_ERROR", "H3_VERSION_FALLBACK",
}

// qpackNames are the names from QPACKDecompression on.
var qpackNames = [...]string{
	"QPACK_DECOMPRESSION_FAILED", "QPACK_ENCODER_STREAM_ERROR", "QPACK_DECODER_STREAM_ERROR",
}

// CodeName returns the name that the RFC gives to a code of HTTP/2 or HTTP/3.
func CodeName(c http2.ErrCode) string {
	switch {
	case c >= QPACKDecompression && c-QPACKDecompression < http2.ErrCode(len(qpackNames)):
		return qpackNames[c-QPACKDecompression]
	case c >= H3NoError && c-H3NoError < http2.ErrCode(len(h3Names)):
		return h3Names[c-H3NoError]
	}
	return c.String()
}
