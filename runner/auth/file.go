package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/octet"
)

const (
	maxFile = 64 << 10
	// poll is how often files are read again: mounted Secrets and projected tokens change.
	poll = 30 * time.Second
	// fileLifetime leaves time for a file that is being written.
	fileLifetime = poll + 10*time.Second
)

func fromFiles(value string, err error) (grant, error) {
	if err != nil {
		return grant{}, err
	}
	return grant{value: []byte(value), lifetime: fileLifetime, refresh: poll}, nil
}

func basic(c *rv.BasicAuth) source {
	return func(context.Context) (grant, error) { return fromFiles(basicValue(c)) }
}

// basicValue is RFC 7617 2.
func basicValue(c *rv.BasicAuth) (string, error) {
	user, err := readText("basic.usernameFile", c.UsernameFile)
	if err != nil {
		return "", err
	}
	password, err := readText("basic.passwordFile", c.PasswordFile)
	switch {
	case err != nil:
		return "", err
	case strings.Contains(user, ":"):
		return "", fmt.Errorf("basic.usernameFile %s: a user name cannot contain a colon (RFC 7617 2)", c.UsernameFile)
	case user == "" && password == "":
		return "", fmt.Errorf("basic.usernameFile %s and passwordFile %s are empty", c.UsernameFile, c.PasswordFile)
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)), nil
}

func bearer(c *rv.BearerAuth) source {
	return func(context.Context) (grant, error) { return fromFiles(bearerFile(c)) }
}

func bearerFile(c *rv.BearerAuth) (string, error) {
	const field = "bearer.tokenFile"
	token, err := readText(field, c.TokenFile)
	if err != nil {
		return "", err
	}
	value, err := bearerValue(token)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", field, c.TokenFile, err)
	}
	return value, nil
}

// bearerValue is RFC 6750 2.1, but takes all visible characters, as tokens of many makers have them.
func bearerValue(token string) (string, error) {
	switch {
	case token == "":
		return "", errors.New("the token is empty")
	case !octet.AllVisible(strings.ReplaceAll(token, " ", "")):
		return "", errors.New("the token contains a character that a field value cannot have (RFC 9110 5.5)")
	case strings.Contains(token, " "):
		return "", errors.New(`the token contains a space (RFC 6750 2.1); write it without "Bearer"`)
	}
	return "Bearer " + token, nil
}

// readText returns the text of a file with one line, without line ends at its end.
func readText(field, path string) (string, error) {
	b, err := read(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", field, err)
	}
	text := strings.TrimRight(string(b), "\r\n")
	for i := range len(text) {
		if text[i] < ' ' || text[i] == 0x7f {
			return "", fmt.Errorf("%s %s: control character at offset %d", field, path, i)
		}
	}
	return text, nil
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would block, and has nothing when read again
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return b, err
}
