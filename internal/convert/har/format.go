package har

import (
	"bytes"
	"encoding/json"
	"time"
)

// archive is what is read of HAR 1.2. Names are the format's.
type archive struct {
	Log *struct {
		Pages   []page  `json:"pages"`
		Entries []entry `json:"entries"`
	} `json:"log"`
}

type page struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type entry struct {
	Pageref         string  `json:"pageref"`
	StartedDateTime string  `json:"startedDateTime"`
	Time            float64 `json:"time"` // milliseconds
	Request         *struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		HTTPVersion string    `json:"httpVersion"`
		Headers     []pair    `json:"headers"`
		PostData    *postData `json:"postData"`
	} `json:"request"`
	Response struct {
		Status int `json:"status"`
	} `json:"response"`
}

type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type postData struct {
	MimeType string `json:"mimeType"`
	Text     string `json:"text"`
	Params   []pair `json:"params"`
	// Encoding is not in HAR 1.2 for requests, but some write it, as for responses.
	Encoding string `json:"encoding"`
}

// begin returns when the request was sent. It is zero if the entry has no valid time.
func (e *entry) begin() time.Time {
	t, _ := time.Parse(time.RFC3339Nano, e.StartedDateTime)
	return t
}

// end is when its response had come.
func (e *entry) end() time.Time {
	const longest = 24 * 60 * 60 * 1000
	return e.begin().Add(time.Duration(min(max(e.Time, 0), longest) * float64(time.Millisecond)))
}

func parse(input []byte) (*archive, error) {
	a := &archive{}
	err := json.Unmarshal(bytes.TrimPrefix(input, []byte("\xef\xbb\xbf")), a)
	return a, err
}
