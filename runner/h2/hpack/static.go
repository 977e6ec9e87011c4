package hpack

// staticCount is the number of entries of the static table; dynamic indices
// start above it (RFC 7541 2.3.3).
const staticCount = 61

// EntryOverhead is what an entry costs on top of its octets (RFC 7541 4.1).
const EntryOverhead = 32

// staticPairs is RFC 7541 appendix A.
var staticPairs = [staticCount][2]string{
	{":authority", ""},
	{":method", "GET"},
	{":method", "POST"},
	{":path", "/"},
	{":path", "/index.html"},
	{":scheme", "http"},
	{":scheme", "https"},
	{":status", "200"},
	{":status", "204"},
	{":status", "206"},
	{":status", "304"},
	{":status", "400"},
	{":status", "404"},
	{":status", "500"},
	{"accept-charset", ""},
	{"accept-encoding", "gzip, deflate"},
	{"accept-language", ""},
	{"accept-ranges", ""},
	{"accept", ""},
	{"access-control-allow-origin", ""},
	{"age", ""},
	{"allow", ""},
	{"authorization", ""},
	{"cache-control", ""},
	{"content-disposition", ""},
	{"content-encoding", ""},
	{"content-language", ""},
	{"content-length", ""},
	{"content-location", ""},
	{"content-range", ""},
	{"content-type", ""},
	{"cookie", ""},
	{"date", ""},
	{"etag", ""},
	{"expect", ""},
	{"expires", ""},
	{"from", ""},
	{"host", ""},
	{"if-match", ""},
	{"if-modified-since", ""},
	{"if-none-match", ""},
	{"if-range", ""},
	{"if-unmodified-since", ""},
	{"last-modified", ""},
	{"link", ""},
	{"location", ""},
	{"max-forwards", ""},
	{"proxy-authenticate", ""},
	{"proxy-authorization", ""},
	{"range", ""},
	{"referer", ""},
	{"refresh", ""},
	{"retry-after", ""},
	{"server", ""},
	{"set-cookie", ""},
	{"strict-transport-security", ""},
	{"transfer-encoding", ""},
	{"user-agent", ""},
	{"vary", ""},
	{"via", ""},
	{"www-authenticate", ""},
}

// Judgement is what a table knows of a field in addition to its octets. Most fields
// of most responses are indices, so judgements are kept apart and small.
type Judgement struct {
	num   int64  // of a status or a content-length
	size  uint32 // RFC 7541 4.1
	kind  Class  // of the name, whatever the value
	class Class  // of the pair
}

// Judge returns the judgement of a field.
func Judge(name, value []byte) Judgement { return judgeValue(classOfName(name), len(name), value) }

// With returns the judgement of a field with the name of j, which has nameLen octets, and another value.
func (j *Judgement) With(nameLen int, value []byte) Judgement {
	return judgeValue(j.kind, nameLen, value)
}

func judgeValue(kind Class, nameLen int, value []byte) Judgement {
	j := Judgement{kind: kind, size: uint32(nameLen + len(value) + EntryOverhead)}
	j.class, j.num = judge(kind, value)
	return j
}

// Class returns what the field means.
func (j *Judgement) Class() Class { return j.class }

type staticField struct{ name, value []byte }

// Both are indexed as on the wire, 1 to 61, and padded to 64, so that an index
// masked to six bits needs no bounds check.
var static, staticJudged = buildStatic()

func buildStatic() (fields [64]staticField, judged [64]Judgement) {
	for i, p := range staticPairs {
		f, j := &fields[i+1], &judged[i+1]
		f.name, f.value = []byte(p[0]), []byte(p[1])
		*j = Judge(f.name, f.value)
	}
	return fields, judged
}

// StaticIndex finds a field in the static table: full is the index of the
// pair, nameOnly that of the first entry with the name; 0 means not found.
func StaticIndex(name, value string) (full, nameOnly int) {
	return FindPair(staticPairs[:], name, value)
}

// FindPair finds a field in pairs of a name and a value: full is 1 + the index
// of the pair, nameOnly 1 + that of the first pair with the name; 0 means not
// found.
func FindPair(pairs [][2]string, name, value string) (full, nameOnly int) {
	for i, p := range pairs {
		if p[0] != name {
			continue
		}
		if nameOnly == 0 {
			nameOnly = i + 1
		}
		if p[1] == value {
			return i + 1, nameOnly
		}
	}
	return 0, nameOnly
}

// EntrySize is the size of a field in a dynamic table and in a header list,
// in octets (RFC 7541 4.1).
func EntrySize(name, value string) int { return len(name) + len(value) + EntryOverhead }
