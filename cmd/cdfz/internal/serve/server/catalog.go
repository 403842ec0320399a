package server

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

// Catalogues of THREDDS, version 1.0:
// https://docs.unidata.ucar.edu/tds/current/userguide/client_side_catalog_specification.html
type (
	xmlCatalog struct {
		XMLName  xml.Name   `xml:"catalog"`
		NS       string     `xml:"xmlns,attr"`
		XLink    string     `xml:"xmlns:xlink,attr"`
		Version  string     `xml:"version,attr"`
		Name     string     `xml:"name,attr"`
		Service  xmlService `xml:"service"`
		Datasets xmlDataset `xml:"dataset"`
	}
	xmlService struct {
		Name     string       `xml:"name,attr"`
		Type     string       `xml:"serviceType,attr"`
		Base     string       `xml:"base,attr"`
		Services []xmlService `xml:"service"`
	}
	xmlDataset struct {
		Name     string       `xml:"name,attr"`
		ID       string       `xml:"ID,attr,omitempty"`
		URLPath  string       `xml:"urlPath,attr,omitempty"`
		Metadata *xmlMetadata `xml:"metadata"`
		Service  string       `xml:"serviceName,omitempty"`
		Viewer   *xmlProperty `xml:"property"`
		Size     *xmlSize     `xml:"dataSize"`
		Date     *xmlDate     `xml:"date"`
		Datasets []xmlDataset `xml:"dataset"`
		Refs     []xmlRef     `xml:"catalogRef"`
	}
	// xmlMetadata holds for all data sets in the one that has it. siphon finds services only
	// here.
	xmlMetadata struct {
		Inherited bool   `xml:"inherited,attr"`
		Service   string `xml:"serviceName"`
	}
	// xmlProperty with the name viewer has a value "ADDRESS,NAME,DESCRIPTION,KIND":
	// https://docs.unidata.ucar.edu/tds/current/userguide/viewers_ref.html
	xmlProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	xmlSize struct {
		Units string `xml:"units,attr"`
		Bytes int64  `xml:",chardata"`
	}
	xmlDate struct {
		Type string `xml:"type,attr"`
		Time string `xml:",chardata"`
	}
	xmlRef struct {
		Href  string `xml:"xlink:href,attr"`
		Title string `xml:"xlink:title,attr"`
		Name  string `xml:"name,attr"`
	}
)

// The same as JSON. Members are only added. Addresses are relative to that of the catalogue, or begin with Options.Base.
type (
	jsonCatalog struct {
		Path     string        `json:"path"`
		Datasets []jsonDataset `json:"datasets"`
		Folders  []jsonFolder  `json:"folders"`
		Closed   []jsonClosed  `json:"closed"`
	}
	// jsonClosed is an archive, or another file named as one, that cannot be opened.
	jsonClosed struct {
		Name string `json:"name"`
		Why  string `json:"why"`
	}
	jsonDataset struct {
		Name     string `json:"name"`
		Size     *int64 `json:"size,omitempty"`     // bytes; nil if unknown
		Modified string `json:"modified,omitempty"` // RFC 3339, "" if that cannot write it
		SHA256   string `json:"sha256,omitempty"`
		Files    string `json:"files"`
		DAP      string `json:"dap,omitempty"`
		Zarr     string `json:"zarr,omitempty"`
		Page     string `json:"page,omitempty"`
	}
	jsonFolder struct {
		Name    string `json:"name"`
		Catalog string `json:"catalog"`
	}
)

// serveCatalog answers with the catalogue of a folder, as XML or JSON. Archives that cannot
// be opened are listed in the latter.
func (s *Server) serveCatalog(w http.ResponseWriter, r *http.Request, name string) {
	dir, file := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	if dir == "" {
		dir = "."
	}
	f, err := s.source.find(dir)
	if err != nil || !f.Info.IsDir() || file != "catalog.xml" && file != "catalog.json" {
		refuse(w, http.StatusNotFound, "no such catalogue")
		return
	}
	list, err := s.source.list(dir)
	if err != nil {
		s.fail(w, err)
		return
	}
	root := s.opts.Base
	if root == "" {
		root = up(r)
	}
	h := w.Header()
	if file == "catalog.json" {
		h.Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.catalogJSON(dir, root, list))
		return
	}
	h.Set("Content-Type", "application/xml")
	fmt.Fprint(w, xml.Header)
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	_ = e.Encode(s.catalogXML(dir, root, list))
}

// catalogXML makes a catalogue. root is the address of the server, absolute or relative to that of the catalogue.
func (s *Server) catalogXML(dir, root string, list []*found) *xmlCatalog {
	folder := path.Join("/", dir)
	c := &xmlCatalog{
		NS: "http://www.unidata.ucar.edu/namespaces/thredds/InvCatalog/v1.0", XLink: "http://www.w3.org/1999/xlink", Version: "1.0.1", Name: folder,
		Service: xmlService{Name: "all", Type: "Compound", Services: []xmlService{
			// THREDDS has no type for Zarr. Clients pass over the types that they do not know.
			{Name: "dap", Type: "OPENDAP", Base: root + dapPath[1:]}, {Name: "http", Type: "HTTPServer", Base: root + filesPath[1:]}, {Name: "zarr", Type: "Zarr", Base: root + zarrPath[1:]},
		}},
		Datasets: xmlDataset{Name: folder, Metadata: &xmlMetadata{true, "all"}},
	}
	for _, f := range list {
		base := path.Base(f.shown)
		switch {
		case f.Info.IsDir():
			c.Datasets.Refs = append(c.Datasets.Refs, xmlRef{Href: root + catalogPath[1:] + escaped(f.shown) + "/catalog.xml", Title: base, Name: base})
		case f.Err == nil:
			d := xmlDataset{Name: base, ID: f.shown, URLPath: escaped(f.shown), Service: "http"}
			if at := modified(f.Info); !at.IsZero() {
				d.Date = &xmlDate{"modified", at.Format(time.RFC3339)}
			}
			if f.Size >= 0 { // unknown of joined files until somebody opens them
				d.Size = &xmlSize{"bytes", f.Size}
			}
			if s.source.isNetCDF(f) {
				d.Service, d.Viewer = "all", &xmlProperty{"viewer", addressesOf(root, f.shown).page + ",cdfz,Maps and series,Browser"}
			}
			c.Datasets.Datasets = append(c.Datasets.Datasets, d)
		}
	}
	return c
}

func (s *Server) catalogJSON(dir, root string, list []*found) *jsonCatalog {
	c := &jsonCatalog{Path: path.Join("/", dir), Datasets: []jsonDataset{}, Folders: []jsonFolder{}, Closed: []jsonClosed{}}
	for _, f := range list {
		base := path.Base(f.shown)
		switch {
		case f.Info.IsDir():
			c.Folders = append(c.Folders, jsonFolder{base, root + catalogPath[1:] + escaped(f.shown) + "/catalog.json"})
		case f.Err == nil:
			at := addressesOf(root, f.shown)
			d := jsonDataset{Name: base, SHA256: f.SHA256, Files: at.files}
			if t := modified(f.Info); !t.IsZero() {
				d.Modified = t.Format(time.RFC3339)
			}
			if f.Size >= 0 {
				d.Size = &f.Size
			}
			if s.source.isNetCDF(f) {
				d.DAP, d.Zarr, d.Page = at.dap, at.zarr, at.page
			}
			c.Datasets = append(c.Datasets, d)
		default:
			c.Closed = append(c.Closed, jsonClosed{base, whyClosed(f.Err)})
		}
	}
	return c
}
