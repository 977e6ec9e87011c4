// Command sbom lists the modules in Go programs, with their licences.
//
//	sbom -o dist/sbom.spdx.json -name h2surge -version v0.1.0 bin/manager bin/runner   # writes an SPDX 2.3 document
//	sbom -check bin/manager bin/runner                                               # fails on a licence that is not allowed
//
// The modules are those that the linker noted in the programs (debug/buildinfo), so the list is complete and has
// nothing else. Licences are found in the files of each module, in the module cache. It runs in the folder of the main
// module. The same programs give the same bytes.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("sbom: ")
	out := flag.String("o", "", "where to write the SPDX document")
	name := flag.String("name", "h2surge", "name of the document")
	version := flag.String("version", "", "version of the programs")
	check := flag.Bool("check", false, "fail on a module whose licence is not allowed or not known")
	flag.Parse()
	if flag.NArg() == 0 || (*out == "") == !*check {
		log.Fatal("want -o or -check, and at least one program")
	}
	modules, err := modulesOf(flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	if wrong := refused(modules); *check && len(wrong) > 0 {
		log.Fatalf("licences that hack/tools/sbom/licences.go does not allow:\n%s", strings.Join(wrong, "\n"))
	}
	if *check {
		fmt.Printf("%d modules, licences %s\n", len(modules), strings.Join(counted(modules), ", "))
		return
	}
	f, err := os.Create(*out)
	if err != nil {
		log.Fatal(err)
	}
	if err := write(f, *name, *version, modules); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
}
