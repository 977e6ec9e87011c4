package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// defaultLifetime is for a token without expires_in.
	defaultLifetime = 5 * time.Minute
	longestLifetime = 365 * 24 * time.Hour
)

// answer is RFC 6749 5.1 and 5.2, and what NRFs may send in place of the latter: a problem (RFC 9457,
// with the cause of 3GPP TS 29.571 5.2.4.1).
type answer struct {
	AccessToken string          `json:"access_token"`
	TokenType   string          `json:"token_type"`
	ExpiresIn   json.RawMessage `json:"expires_in"`

	Error       string `json:"error"`
	Description string `json:"error_description"`

	Title  string `json:"title"`
	Detail string `json:"detail"`
	Cause  string `json:"cause"`
}

// parse reads the response of a token endpoint. Its errors contain the error and the description of the response, and
// nothing else of the body, because the body may contain a token.
func (o *oauth2) parse(status int, body []byte, hidden secrets) (grant, error) {
	var a answer
	err := json.Unmarshal(body, &a)
	switch {
	case 300 <= status && status < 400:
		return grant{}, fmt.Errorf("answered %d, and redirects of a token request are not followed", status)
	case status != http.StatusOK:
		return grant{}, fmt.Errorf("answered %d%s", status, a.words(hidden))
	case a.AccessToken == "" && a.Error != "":
		return grant{}, fmt.Errorf("answered without a token%s", a.words(hidden))
	case err != nil:
		return grant{}, errors.New("the answer is not JSON as RFC 6749 5.1 requires")
	case a.AccessToken == "":
		return grant{}, errors.New("the answer has no access_token (RFC 6749 5.1)")
	case !strings.EqualFold(a.TokenType, "Bearer") && a.TokenType != "":
		return grant{}, fmt.Errorf("token_type %s is not Bearer (RFC 6749 7.1)", hidden.quote(a.TokenType))
	}
	value, err := bearerValue(a.AccessToken)
	if err != nil {
		return grant{}, fmt.Errorf("access_token: %w", err)
	}
	lifetime, err := a.lifetime()
	if err != nil {
		return grant{}, err
	}
	before := o.config.RefreshBefore
	if before == 0 {
		before = defaultRefreshBefore
	}
	return grant{value: []byte(value), lifetime: lifetime, refresh: lifetime - min(before, lifetime/2)}, nil
}

// lifetime takes a number in quotes too, as some endpoints send it.
func (a *answer) lifetime() (time.Duration, error) {
	text := strings.Trim(string(a.ExpiresIn), `"`)
	if text == "" || text == "null" {
		return defaultLifetime, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 1) { // nor NaN
		return 0, errors.New("expires_in is not a number of seconds of at least 1 (RFC 6749 5.1)")
	}
	return time.Duration(min(seconds, longestLifetime.Seconds()) * float64(time.Second)), nil
}

// words are what the endpoint says about an error.
func (a *answer) words(hidden secrets) string {
	out := ""
	for _, s := range []string{a.Error, a.Description, a.Title, a.Cause, a.Detail} {
		if s != "" {
			out += ": " + hidden.quote(s)
		}
	}
	return out
}
