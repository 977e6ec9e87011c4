package rules

// APIVersion and Kind stand at the top of a file. No cluster knows this kind: the file is for the
// command line.
const (
	APIVersion = "h2surge.io/v1alpha1"
	Kind       = "Target"
)

// File is what a file of rules holds. Its types mirror the text; Load checks it.
type File struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	// Listen has what flags of the command line say too; a flag that is given wins.
	Listen *Listen `yaml:"listen,omitempty"`
	// MaxDocuments bounds what resources store; default documents.DefaultMax.
	MaxDocuments *int `yaml:"maxDocuments,omitempty"`
	// Callbacks is how the target sends notifications.
	Callbacks *Callbacks `yaml:"callbacks,omitempty"`
	Rules     []Rule     `yaml:"rules"`
}

// Callbacks is how the target sends notifications. Files are in PEM.
type Callbacks struct {
	Timeout *Duration `yaml:"timeout,omitempty"`
	// CAFile has the certificates of the authorities that verify the servers of https URIs.
	CAFile string `yaml:"caFile,omitempty"`
	// InsecureSkipVerify accepts any certificate of a server.
	InsecureSkipVerify bool `yaml:"insecureSkipVerify,omitempty"`
	// CertFile and KeyFile have the client certificate for https URIs, and its key.
	CertFile string `yaml:"certFile,omitempty"`
	KeyFile  string `yaml:"keyFile,omitempty"`
}

// Listen is how the target listens, and what it lets clients do.
type Listen struct {
	Address              string  `yaml:"address,omitempty"`
	StatsAddress         string  `yaml:"statsAddress,omitempty"`
	CPU                  *int    `yaml:"cpu,omitempty"`
	MaxConcurrentStreams *int    `yaml:"maxConcurrentStreams,omitempty"`
	ResetsPerSecond      *int    `yaml:"resetsPerSecond,omitempty"`
	Seed                 *uint64 `yaml:"seed,omitempty"`
}

// Rule says what is answered to the requests it matches.
type Rule struct {
	Name      string     `yaml:"name"`
	Match     Match      `yaml:"match,omitempty"`
	Resource  *Resource  `yaml:"resource,omitempty"`
	Responses []Response `yaml:"responses,omitempty"`
	Notify    []Notify   `yaml:"notify,omitempty"`
}

// Match is a conjunction; an empty one matches every request.
type Match struct {
	Method string `yaml:"method,omitempty"`
	// Path is exact or has segments {name}, and /** at its end for all below.
	Path    string      `yaml:"path,omitempty"`
	Headers []Condition `yaml:"headers,omitempty"`
	Query   []Condition `yaml:"query,omitempty"`
	Body    []Condition `yaml:"body,omitempty"`
}

// Condition has one comparison. Name belongs to headers and query, JSONPointer to body, where
// nil means the body as text.
type Condition struct {
	Name        string  `yaml:"name,omitempty"`
	JSONPointer *string `yaml:"jsonPointer,omitempty"`
	Equals      *string `yaml:"equals,omitempty"`
	StartsWith  *string `yaml:"startsWith,omitempty"`
	EndsWith    *string `yaml:"endsWith,omitempty"`
	Contains    *string `yaml:"contains,omitempty"`
	Matches     *string `yaml:"matches,omitempty"`
	Exists      *bool   `yaml:"exists,omitempty"`
}

// Resource says what a rule does to stored documents.
type Resource struct {
	Collection string `yaml:"collection"`
	// Action is create, put, read, update, patch, delete or list.
	Action string `yaml:"action"`
	// ID is a text; without it create makes one.
	ID string `yaml:"id,omitempty"`
	// Absent is the answer when there is no such document.
	Absent *Problem `yaml:"absent,omitempty"`
	// Where and Limit are for list.
	Where []Where `yaml:"where,omitempty"`
	Limit *int    `yaml:"limit,omitempty"`
}

// Where selects documents whose value at the pointer equals or contains a text. It has one of both. An empty text selects
// all documents.
type Where struct {
	JSONPointer string  `yaml:"jsonPointer"`
	Equals      *string `yaml:"equals,omitempty"`
	Contains    *string `yaml:"contains,omitempty"`
	// OrAbsent selects documents without such a value, too.
	OrAbsent bool `yaml:"orAbsent,omitempty"`
}

// Notify is a request that the target sends after it has answered one with a status below 400.
type Notify struct {
	// Name is for readers and for the counts.
	Name string `yaml:"name,omitempty"`
	// URI is a text. The notification is not sent unless its value is an absolute http or https URI.
	URI string `yaml:"uri"`
	// Method is POST if it is empty.
	Method   string   `yaml:"method,omitempty"`
	Headers  []Header `yaml:"headers,omitempty"`
	Body     *string  `yaml:"body,omitempty"`
	BodyFile string   `yaml:"bodyFile,omitempty"`
	Parts    []Part   `yaml:"parts,omitempty"`
	// Delay counts from the arrival of the request.
	Delay *Delay `yaml:"delay,omitempty"`
	// Unsent and SentTwice are shares of the notifications.
	Unsent    *Ratio `yaml:"unsent,omitempty"`
	SentTwice *Ratio `yaml:"sentTwice,omitempty"`
	// ForEach selects stored documents. The target sends one notification for each of them.
	ForEach *ForEach `yaml:"forEach,omitempty"`
}

// ForEach selects documents of a collection.
type ForEach struct {
	Collection string  `yaml:"collection"`
	Where      []Where `yaml:"where,omitempty"`
	Limit      *int    `yaml:"limit,omitempty"`
}

// Problem is a body of application/problem+json (RFC 9457) with the cause of 3GPP TS 29.500
// section 5.2.7.
type Problem struct {
	Status int    `yaml:"status,omitempty"`
	Cause  string `yaml:"cause,omitempty"`
	Title  string `yaml:"title,omitempty"`
	Detail string `yaml:"detail,omitempty"`
}

// Response is one of the responses of a rule.
type Response struct {
	Name     string   `yaml:"name,omitempty"`
	Weight   *int     `yaml:"weight,omitempty"`
	Status   *int     `yaml:"status,omitempty"`
	Headers  []Header `yaml:"headers,omitempty"`
	Body     *string  `yaml:"body,omitempty"`
	BodyFile string   `yaml:"bodyFile,omitempty"`
	Parts    []Part   `yaml:"parts,omitempty"`
	Problem  *Problem `yaml:"problem,omitempty"`
	Delay    *Delay   `yaml:"delay,omitempty"`
	// Unanswered, Reset and Close are the shares of requests that get no response. See Fate.
	Unanswered *Ratio  `yaml:"unanswered,omitempty"`
	Reset      *Ratio  `yaml:"reset,omitempty"`
	Close      *Ratio  `yaml:"close,omitempty"`
	Script     *Script `yaml:"script,omitempty"`
}

// Part is a part of a multipart/related body (RFC 2387). It has at most one of Body, BodyHex and BodyFile.
type Part struct {
	ContentType string `yaml:"contentType"`
	ContentID   string `yaml:"contentID,omitempty"`
	Body        string `yaml:"body,omitempty"`
	// BodyHex is hexadecimal digits. It has no placeholders.
	BodyHex  string `yaml:"bodyHex,omitempty"`
	BodyFile string `yaml:"bodyFile,omitempty"`
}

// Header is a response header field; its value is a text.
type Header struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// Script is Lua code that can change a response.
type Script struct {
	Lua     string `yaml:"lua,omitempty"`
	LuaFile string `yaml:"luaFile,omitempty"`
}

// Delay has exactly one distribution.
type Delay struct {
	Fixed       *Duration    `yaml:"fixed,omitempty"`
	Uniform     *Uniform     `yaml:"uniform,omitempty"`
	Exponential *Exponential `yaml:"exponential,omitempty"`
	Normal      *Normal      `yaml:"normal,omitempty"`
}

// Uniform is any delay from Min to Max.
type Uniform struct {
	Min *Duration `yaml:"min,omitempty"`
	Max Duration  `yaml:"max"`
}

// Exponential is a distribution with that mean, cut at Max, which is MaxDelay unless given.
type Exponential struct {
	Mean Duration  `yaml:"mean"`
	Max  *Duration `yaml:"max,omitempty"`
}

// Normal is a normal distribution, cut at 0 and at MaxDelay.
type Normal struct {
	Mean              Duration `yaml:"mean"`
	StandardDeviation Duration `yaml:"standardDeviation"`
}
