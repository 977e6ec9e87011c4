package mock

import (
	"strconv"
	"time"

	"github.com/h2surge/h2surge/internal/mock/notifier"
)

// Stats has the counts of a server since its start or the last Reset.
//
// Requests = Answered + Unanswered + Aborted + Pending.
type Stats struct {
	// Requests received: well-formed and within the limits, counted when the header is complete. Warm-up requests and
	// unanswered ones count. Refused ones do not: the client may safely send them again.
	Requests uint64 `json:"requests"`
	// Answered requests: the server has given the response to the connection.
	Answered uint64 `json:"answered"`
	// Unanswered requests: the server draws them to get no answer, or a rule resets them or closes their connection.
	Unanswered uint64 `json:"unanswered"`
	// Aborted requests: the client reset the stream or left before the answer was due.
	Aborted uint64 `json:"aborted"`
	// Pending requests: being received, or held back by latency or a stall.
	Pending uint64 `json:"pending"`
	// ByMethod counts Requests; methods other than the usual ones are under "other".
	ByMethod map[string]uint64 `json:"byMethod"`
	// ByStatus counts Answered by status code.
	ByStatus map[string]uint64 `json:"byStatus"`

	// Connections accepted, and those open now.
	Connections     uint64 `json:"connections"`
	OpenConnections uint64 `json:"openConnections"`
	// ConnectionErrors counts connections ended because the client broke the protocol.
	ConnectionErrors uint64 `json:"connectionErrors"`
	// Resets counts RST_STREAM frames received, Refused the requests over a limit of the server, Malformed the requests of
	// HTTP/2 that were reset with PROTOCOL_ERROR or had a header above the limit. In HTTP/1.1, such a request ends its
	// connection, and counts as a connection error.
	Resets    uint64 `json:"resets"`
	Refused   uint64 `json:"refused"`
	Malformed uint64 `json:"malformed"`
	// Resources that exist now; Reset leaves them.
	Resources uint64 `json:"resources"`
	// BytesReceived and BytesSent count bytes of all connections.
	BytesReceived uint64 `json:"bytesReceived"`
	BytesSent     uint64 `json:"bytesSent"`

	// PerSecond has the number of requests in each second from the first request (since the
	// start or Reset) to the last, and at most the last maxSeconds of them. PerSecondStart is
	// the Unix time at which the first of those seconds began, rounded down.
	PerSecond      []uint64 `json:"perSecond"`
	PerSecondStart int64    `json:"perSecondStart"`

	// BodyStats is nil, and absent from the JSON, unless POST bodies are tracked.
	*BodyStats
	// RuleStats is nil, and absent from the JSON, without rules.
	*RuleStats
}

// RuleStats has the counts of the rules.
type RuleStats struct {
	// Unmatched requests matched no rule. Requests with a fault of the target's options count neither here nor as a
	// match of a rule.
	Unmatched uint64      `json:"unmatched"`
	Rules     []RuleCount `json:"rules"`
	// ByCode counts the calls of gRPC among Answered by the names of their codes.
	ByCode map[string]uint64 `json:"byCode,omitempty"`
	// Notifications are those of all rules, in the order of the file.
	Notifications []notifier.Count `json:"notifications,omitempty"`
}

// RuleCount counts the requests that matched a rule, and their outcomes. The answer to Failed ones was 500, because
// the rule could not produce its response.
type RuleCount struct {
	Name       string `json:"name"`
	Matches    uint64 `json:"matches"`
	Unanswered uint64 `json:"unanswered"`
	Reset      uint64 `json:"reset"`
	Closed     uint64 `json:"closed"`
	Failed     uint64 `json:"failed"`
}

// BodyStats counts repeated POST bodies. Empty bodies count, and bodies of requests with a fault count too.
type BodyStats struct {
	DistinctBodies uint64 `json:"distinctBodies"`
	RepeatedBodies uint64 `json:"repeatedBodies"`
	// UntrackedBodies came after the set was full, at 16 Mi distinct bodies.
	UntrackedBodies uint64 `json:"untrackedBodies"`
}

// maxSeconds bounds Stats.PerSecond.
const maxSeconds = 600

// method of a request, as counted.
type method uint8

const (
	methodOther method = iota
	methodGet
	methodHead
	methodPost
	methodPut
	methodPatch
	methodDelete
	methodCount
)

var methodNames = [methodCount]string{"other", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

func parseMethod(b []byte) method {
	switch string(b) {
	case "GET":
		return methodGet
	case "POST":
		return methodPost
	case "PATCH":
		return methodPatch
	case "DELETE":
		return methodDelete
	case "PUT":
		return methodPut
	case "HEAD":
		return methodHead
	}
	return methodOther
}

// counters are guarded by the Server's lock, which is taken once for each turn of a loop.
type counters struct {
	// epoch is raised by reset: a request received before it is not counted when answered.
	epoch                          uint32
	requests, answered, unanswered uint64
	aborted, pending               uint64
	byMethod                       [methodCount]uint64
	byStatus                       [answerCount]uint64
	accepted, connectionErrors     uint64
	resets, refused, malformed     uint64
	received, sent                 uint64
	seconds                        seconds
	rules                          ruleCounters
}

func (c *counters) reset() {
	n := len(c.rules.byRule)
	*c = counters{epoch: c.epoch + 1, rules: newRuleCounters(n)}
}

func (c *counters) snapshot(begin time.Time) Stats {
	s := Stats{
		Requests: c.requests, Answered: c.answered, Unanswered: c.unanswered, Aborted: c.aborted, Pending: c.pending,
		ByMethod: map[string]uint64{}, ByStatus: map[string]uint64{},
		Connections: c.accepted, ConnectionErrors: c.connectionErrors,
		Resets: c.resets, Refused: c.refused, Malformed: c.malformed,
		BytesReceived: c.received, BytesSent: c.sent,
	}
	for m, n := range c.byMethod {
		if n > 0 {
			s.ByMethod[methodNames[m]] = n
		}
	}
	for a, n := range c.byStatus {
		if n > 0 {
			s.ByStatus[strconv.Itoa(answerStatus[a])] += n
		}
	}
	for status, n := range c.rules.byStatus {
		if n > 0 {
			s.ByStatus[strconv.Itoa(status)] += n
		}
	}
	s.PerSecond, s.PerSecondStart = c.seconds.list(begin)
	return s
}

// seconds counts events in each of the last maxSeconds seconds since the server began.
type seconds struct {
	count [maxSeconds]uint64
	// The second numbers of the oldest and the newest entry of count; used is false before
	// the first event.
	first, last int64
	used        bool
}

func (s *seconds) add(now int64, n uint64) {
	sec := now / int64(time.Second)
	if !s.used {
		s.first, s.last, s.used = sec, sec, true
	}
	for s.last < sec {
		s.last++
		s.count[s.last%maxSeconds] = 0
		if s.last-s.first >= maxSeconds {
			s.first = s.last - maxSeconds + 1
		}
		if s.last+maxSeconds < sec { // a long silence: every entry is overwritten anyway
			s.last = sec - maxSeconds
		}
	}
	s.count[sec%maxSeconds] += n
}

func (s *seconds) list(begin time.Time) (counts []uint64, start int64) {
	if !s.used {
		return []uint64{}, 0
	}
	for sec := s.first; sec <= s.last; sec++ {
		counts = append(counts, s.count[sec%maxSeconds])
	}
	return counts, begin.Unix() + s.first
}
