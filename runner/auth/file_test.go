package auth

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// write makes a file in dir and returns its path; without content there is no file.
func write(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if content != "" {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for i, tc := range []struct {
		name           string
		user, password string // of Basic
		token          string // of Bearer
		want, err      string
	}{
		{name: "RFC 7617 2", user: "Aladdin", password: "open sesame", want: "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
		{name: "line ends", user: "Aladdin\n", password: "open sesame\r\n", want: "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
		{name: "RFC 7617 2.1", user: "test", password: "123£", want: "Basic dGVzdDoxMjPCow=="},
		{name: "a colon in the password", user: "a", password: "b:c", want: "Basic YTpiOmM="},
		{name: "no password", user: "a", password: "\n", want: "Basic YTo="},
		{name: "no user name", user: "\n", password: "a", want: "Basic OmE="},
		{name: "neither", user: "\n", password: "\n", err: "are empty"},
		{name: "a colon in the user name", user: "hush:a", password: "b", err: "a user name cannot contain a colon (RFC 7617 2)"},
		{name: "control character", user: "a", password: "hush\nb", err: "basic.passwordFile"},
		{name: "no user name's file", password: "hush", err: "basic.usernameFile"},
		{name: "no password's file", user: "hush", err: "basic.passwordFile"},
		{name: "RFC 6750 2.1", token: "mF_9.B5f-4.1JqM\n", want: "Bearer mF_9.B5f-4.1JqM"},
		{name: "no token", token: "\n", err: "the token is empty"},
		{name: "the scheme is in the file", token: "Bearer hush", err: `write it without "Bearer"`},
		{name: "not ASCII", token: "hush£", err: "RFC 9110 5.5"},
		{name: "two lines", token: "hush\nhush", err: "control character at offset 4"},
		{name: "too long", token: strings.Repeat("hush", 20000), err: "more than 65536 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := func(name, content string) string { return write(t, dir, fmt.Sprint(name, i), content) }
			c := &rv.Auth{Basic: &rv.BasicAuth{UsernameFile: file("user", tc.user), PasswordFile: file("password", tc.password)}}
			if tc.token != "" {
				c = &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: file("token", tc.token)}}
			}
			expect(t, c, tc.want, tc.err)
		})
	}
	expect(t, &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: dir}}, "", "not a regular file")
}

// expect opens c for its first value, or for an error with some words in it and without "hush".
func expect(t *testing.T, c *rv.Auth, want, words string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	value, done, err := Open(ctx, c, nil, nil, func(value []byte, err error) { t.Errorf("update: %s, %v", value, err) })
	cancel()
	if err == nil {
		<-done
	}
	switch {
	case words == "" && (err != nil || string(value) != want):
		t.Errorf("%q, %v, want %q", value, err, want)
	case words != "" && (err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hush")):
		t.Errorf("%q, %v, want an error with %q", value, err, words)
	}
}

func TestExactlyOne(t *testing.T) {
	expect(t, &rv.Auth{}, "", "exactly one of")
	expect(t, &rv.Auth{Basic: new(rv.BasicAuth), Bearer: new(rv.BearerAuth)}, "", "exactly one of")
}

// TestFileChanges: a projected token rotates, is absent for a short time, and is then removed.
func TestFileChanges(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		path := write(t, dir, "token", "one")
		s := &script{began: time.Now()}
		value, done, err := Open(ctx, &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: path}}, nil, nil, func(value []byte, err error) {
			if err != nil {
				value = []byte("failed")
			}
			s.update(value, nil)
		})
		if err != nil || string(value) != "Bearer one" {
			t.Fatalf("%q, %v", value, err)
		}
		later := func(d time.Duration, change func()) {
			time.Sleep(d) // in the bubble
			synctest.Wait()
			change()
		}
		later(50*time.Second, func() { write(t, dir, "token", "two") })
		later(35*time.Second, func() { _ = os.Remove(path) }) // 1m25s
		later(5500*time.Millisecond, func() { write(t, dir, "token", "three") })
		later(9500*time.Millisecond, func() { _ = os.Remove(path) }) // 1m40s
		later(time.Minute, func() { write(t, dir, "token", "three") })
		later(time.Minute, cancel)
		<-done
		want := "1m0s Bearer two, 1m31s Bearer three, 2m11s failed, 2m57s Bearer three"
		if got := strings.Join(s.log, ", "); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}
