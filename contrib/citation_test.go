//go:build judge

package contrib_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeCitation checks CITATION.cff for what the Citation File Format 1.2.0 requires, and that it has no other keys than it
// knows. Its schema, with which this was compared, is not copied here.
func TestJudgeCitation(t *testing.T) {
	const program = `
import datetime, re, yaml
with open("../CITATION.cff", encoding="utf-8") as f: c = yaml.safe_load(f)
text = "cff-version message title abstract type version license repository-code url doi date-released commit".split()
assert set(c) <= {*text, "authors", "keywords", "identifiers"}, set(c)
for k in text: assert isinstance(c.get(k, "x"), (str, datetime.date)) and c.get(k) != "", k
assert c["cff-version"] == "1.2.0" and c["type"] == "software" and c["license"] == "Apache-2.0"
for k in "message", "title", "authors": assert c[k], k
assert isinstance(c.get("date-released", datetime.date.today()), datetime.date)
for a in c["authors"]: assert set(a) <= {"name", "website", "email", "given-names", "family-names", "affiliation", "orcid"} and a
assert len(set(c["keywords"])) == len(c["keywords"]) and all(isinstance(k, str) for k in c["keywords"])
for k in "repository-code", "url": assert re.match("https://", c[k]), k
print(c["version"])
`
	require.Regexp(t, `^[0-9]+\.[0-9]+\.[0-9]+`, run(t, "", "", nil, "/usr/bin/python3", "-c", program))
}
