package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// screenshot writes what Chromium shows of a page as a PNG of at most 256 colours.
func (s *studio) screenshot(name, url string, width, height int) error {
	file := s.path(name)
	cmd := exec.CommandContext(s.ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--no-first-run", "--allow-file-access-from-files", "--user-data-dir="+s.path("chromium"),
		"--virtual-time-budget=2500", fmt.Sprintf("--window-size=%d,%d", width, height), "--screenshot="+file, url)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("chromium: %w\n%s", err, out)
	}
	raw, err := os.Open(file)
	if err != nil {
		return err
	}
	defer raw.Close() //nolint:errcheck // it was only read
	picture, err := png.Decode(raw)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(s.out, name))
	if err != nil {
		return err
	}
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	return errors.Join(encoder.Encode(out, reduce(picture)), out.Close())
}

// reduce replaces all but the 256 most frequent colours by the nearest of these.
func reduce(in image.Image) *image.Paletted {
	b := in.Bounds()
	count := map[color.Color]int{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[in.At(x, y)]++
		}
	}
	palette := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return cmp.Compare(count[b], count[a]) })
	out := image.NewPaletted(b, palette[:min(256, len(palette))])
	index := map[color.Color]uint8{}
	for c := range count {
		index[c] = uint8(out.Palette.Index(c))
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			out.SetColorIndex(x, y, index[in.At(x, y)])
		}
	}
	return out
}

// awaitLine reads until a line begins with a text, and then discards the rest in the background.
func awaitLine(r io.Reader, prefix string) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), prefix) {
			go io.Copy(io.Discard, r) //nolint:errcheck // ends with the process
			return nil
		}
	}
	return fmt.Errorf("no line begins with %q", prefix)
}
