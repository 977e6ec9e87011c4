package main

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// printImage prints what a container would see: a line for each file, sorted by name, and the configuration. Times,
// layers and history, in which builders differ, are left out.
func printImage(out io.Writer, archive string) error {
	img, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return err
	}
	content := mutate.Extract(img)
	defer content.Close() //nolint:errcheck // it was read to its end, or the error is returned
	lines, err := describe(tar.NewReader(content))
	if err != nil {
		return err
	}
	c, err := img.ConfigFile()
	if err != nil {
		return err
	}
	lines = append(lines, "platform "+c.OS+"/"+c.Architecture, "user "+c.Config.User, "directory "+c.Config.WorkingDir,
		fmt.Sprintf("entrypoint %q", c.Config.Entrypoint), fmt.Sprintf("command %q", c.Config.Cmd),
		fmt.Sprintf("environment %q", c.Config.Env))
	for k, v := range c.Config.Labels {
		if strings.HasPrefix(k, "org.opencontainers.image.") { // builders add labels of their own
			lines = append(lines, fmt.Sprintf("label %s=%q", k, v))
		}
	}
	slices.Sort(lines)
	_, err = fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

// describe returns a line for each entry of a file system.
func describe(r *tar.Reader) ([]string, error) {
	var lines []string
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("file /%s type %c mode %04o owner %d:%d sha256 %x",
			strings.Trim(h.Name, "/"), h.Typeflag, h.Mode&0o7777, h.Uid, h.Gid, sum.Sum(nil)[:8]))
	}
}
