package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go/http3"
)

// goServer answers with "hello", or with as many bytes as the query's "body" says and a header
// field of as many bytes as its "header" says.
type goServer struct {
	requests atomic.Int64
	filler   string
}

// maxFiller bounds both sizes.
const maxFiller = 1 << 20

// goServerMain serves HTTP/1.1, HTTPS and the count of both on three addresses until it is killed, and HTTP/3 on the
// address of HTTPS.
func goServerMain(args []string) error {
	if len(args) != 5 {
		return errors.New("go-server needs three addresses, a certificate and a key")
	}
	g := &goServer{filler: strings.Repeat("x", maxFiller)}
	ended := make(chan error)
	serve := func(addr string, h http.Handler, certificate ...string) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			ended <- err
			return
		}
		s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, Protocols: &http.Protocols{}}
		s.Protocols.SetHTTP1(true)
		s.Protocols.SetHTTP2(true)
		s.Protocols.SetUnencryptedHTTP2(true)
		if len(certificate) > 0 {
			ended <- s.ServeTLS(l, certificate[0], certificate[1])
			return
		}
		ended <- s.Serve(l)
	}
	go serve(args[0], http.HandlerFunc(g.answer))
	go serve(args[1], http.HandlerFunc(g.answer), args[3], args[4])
	go serve(args[2], http.HandlerFunc(g.count))
	go func() {
		s := &http3.Server{Addr: args[1], Handler: http.HandlerFunc(g.answer)}
		ended <- s.ListenAndServeTLS(args[3], args[4])
	}()
	return <-ended
}

func (g *goServer) answer(w http.ResponseWriter, r *http.Request) {
	g.requests.Add(1)
	body := "hello"
	if r.URL.RawQuery != "" {
		q := r.URL.Query()
		if n := size(q.Get("body")); n > 0 {
			body = g.filler[:n]
		}
		if n := size(q.Get("header")); n > 0 {
			w.Header().Set("x-pad", g.filler[:n])
		}
	}
	w.Header().Set("content-length", strconv.Itoa(len(body)))
	_, _ = w.Write([]byte(body))
}

func (g *goServer) count(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, g.requests.Load())
}

// size is 0 for what is no size in bounds.
func size(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxFiller {
		return 0
	}
	return n
}
