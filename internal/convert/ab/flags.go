package ab

import (
	"strconv"

	"github.com/h2surge/h2surge/internal/convert"
)

// known are ab's flags, of 2.4.
var known = []convert.Flag{
	{Short: 'A', Value: true}, {Short: 'b', Value: true}, {Short: 'B', Value: true}, {Short: 'c', Value: true},
	{Short: 'C', Value: true}, {Short: 'd'}, {Short: 'e', Value: true}, {Short: 'E', Value: true}, {Short: 'f', Value: true},
	{Short: 'g', Value: true}, {Short: 'h'}, {Short: 'H', Value: true}, {Short: 'i'}, {Short: 'I'}, {Short: 'k'}, {Short: 'l'},
	{Short: 'm', Value: true}, {Short: 'n', Value: true}, {Short: 'p', Value: true}, {Short: 'P', Value: true}, {Short: 'q'},
	{Short: 'r'}, {Short: 's', Value: true}, {Short: 'S'}, {Short: 't', Value: true}, {Short: 'T', Value: true},
	{Short: 'u', Value: true}, {Short: 'v', Value: true}, {Short: 'V'}, {Short: 'w'}, {Short: 'x', Value: true},
	{Short: 'X', Value: true}, {Short: 'y', Value: true}, {Short: 'z', Value: true}, {Short: 'Z', Value: true},
}

// without has the flags that have no equivalent, with the reason.
var without = map[string]string{
	"-b": "the sizes of socket buffers are left to the system",
	"-d": "is about ab's table",
	"-e": "the report has the percentiles",
	"-g": "no line is written for each request",
	"-h": "asks for nothing to be run",
	"-I": "h2surge always sends the server's name; tls.serverName sets it",
	"-P": "there are no proxies",
	"-q": "is a flag of h2surge run",
	"-r": "requests that fail never end the test",
	"-S": "is about ab's table",
	"-v": "nothing is shown of single requests",
	"-V": "asks for nothing to be run",
	"-w": "there is no HTML report",
	"-x": "there is no HTML report",
	"-X": "there are no proxies; the URL itself is requested",
	"-y": "there is no HTML report",
	"-z": "there is no HTML report",
	"-Z": "names of OpenSSL are not converted; tls.cipherSuites takes IANA's",
}

// flags are what was given.
type flags struct {
	convert.FlagValues
	draft *convert.Draft
}

// whole is a number of at least 1.
func (f *flags) whole(name string, absent int32) int32 {
	text, has := f.Last[name]
	if !has {
		return absent
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		f.draft.Fail(name, "must be a whole number, at least 1 and below 2^31")
		return absent
	}
	return int32(n)
}
