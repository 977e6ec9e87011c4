package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	spdx "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

const (
	// created is the same for all documents, because the same programs must give the same bytes.
	created = "1970-01-01T00:00:00Z"
	// namespace begins the name of each document, which ends with a hash of its modules.
	namespace = "https://h2surge.io/spdx/"
	project   = "github.com/h2surge/h2surge"
)

// write writes modules as an SPDX 2.3 document in JSON: the package of the programs, and a package for each module that
// it contains.
func write(w io.Writer, name, version string, modules []module) error {
	hash := sha256.New()
	main := &v2_3.Package{
		PackageName: name, PackageSPDXIdentifier: "Package-main", PackageVersion: version,
		PackageDownloadLocation: "https://" + project, PackageLicenseConcluded: "Apache-2.0",
		PackageLicenseDeclared: "Apache-2.0", PackageCopyrightText: "NOASSERTION",
	}
	doc := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name,
		CreationInfo: &v2_3.CreationInfo{Created: created, Creators: []common.Creator{{CreatorType: "Tool", Creator: project +
			"/hack/tools/sbom"}}},
		Packages: []*v2_3.Package{main},
		Relationships: []*v2_3.Relationship{
			{RefA: common.MakeDocElementID("", "DOCUMENT"), RefB: common.MakeDocElementID("",
				string(main.PackageSPDXIdentifier)), Relationship: common.TypeRelationshipDescribe},
		},
	}
	for i, m := range modules {
		p := packageOf(i, &m)
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, &v2_3.Relationship{
			RefA: common.MakeDocElementID("", string(main.PackageSPDXIdentifier)), RefB: common.MakeDocElementID("",
				string(p.PackageSPDXIdentifier)),
			Relationship: common.TypeRelationshipContains,
		})
		fmt.Fprintln(hash, m.path, m.version, m.sum)
	}
	doc.DocumentNamespace = namespace + name + "-" + hex.EncodeToString(hash.Sum(nil))[:16]
	return spdx.Write(doc, w, spdx.Indent("  "))
}

func packageOf(i int, m *module) *v2_3.Package {
	licence := "NOASSERTION"
	if len(m.licences) > 0 {
		licence = strings.Join(m.licences, " AND ")
	}
	p := &v2_3.Package{
		PackageName: m.path, PackageSPDXIdentifier: common.ElementID(fmt.Sprintf("Package-%d", i+1)),
		PackageVersion:          m.version,
		PackageDownloadLocation: "NOASSERTION", PackageLicenseConcluded: licence, PackageLicenseDeclared: licence,
		PackageCopyrightText: "NOASSERTION",
		PackageComment:       m.sum,
		PackageExternalReferences: []*v2_3.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: purl(m),
		}},
	}
	return p
}

// purl returns the package URL of a module: https://github.com/package-url/purl-spec, type golang.
func purl(m *module) string {
	version := m.version
	if m.path == standard {
		version = strings.TrimPrefix(version, "go")
	}
	if i := strings.LastIndexByte(m.path, '/'); i >= 0 {
		return "pkg:golang/" + strings.ToLower(m.path[:i]) + "/" + strings.ToLower(m.path[i+1:]) + "@" + version
	}
	return "pkg:golang/" + m.path + "@" + version
}
