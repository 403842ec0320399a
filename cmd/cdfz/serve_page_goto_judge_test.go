//go:build judge && linux

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestJudgePageGoTo goes to dates of each calendar, and to values of other coordinates: to the nearest step.
func TestJudgePageGoTo(t *testing.T) {
	t.Parallel()
	const steps = 800
	files := map[string]string{}
	for _, calendar := range []string{"standard", "noleap", "360_day", "julian", "all_leap", "none"} {
		var times []string
		for i := range steps {
			times = append(times, fmt.Sprint(2*i))
		}
		files[calendar+".nc"] = fmt.Sprintf(`netcdf x { dimensions: time = %d ; lev = 3 ; y = 2 ; x = 2 ; variables: double time(time) ;
  time:units = "days since 2000-01-01" ; time:calendar = "%s" ; float lev(lev) ; lev:units = "hPa" ; float a(time, lev, y, x) ;
  data: time = %s ; lev = 1000, 500, 250 ; }`, steps, calendar, strings.Join(times, ", "))
	}
	s := serveOn(t, generated(t, files))
	b := openBrowser(t, 1100, 800)
	// enter types into the box of a dimension, and returns what the page says.
	enter := func(dim int, text string) string {
		b.t.Helper()
		before := eval[int](b, `(() => { const box = document.getElementById("goto-%d"); window.said = box.closest(".controls").querySelector("output"); said.textContent = ""; return 0; })()`, dim)
		require.Zero(t, before)
		eval[bool](b, `(() => { const box = document.getElementById("goto-%d"); box.value = %q; return box.dispatchEvent(new Event("change")); })()`, dim, text)
		b.until(`said.textContent !== ""`)
		return eval[string](b, `said.textContent`)
	}
	for calendar, want := range map[string][3]string{
		"standard": {"2001-03-01", "nearest: 2001-02-28, index 212", "29"},
		"noleap":   {"2001-03-01", "2001-03-01, index 212", "28"},
		"360_day":  {"2001-02-30", "nearest: 2001-02-29, index 209", "30"},
		"julian":   {"2001-03-01", "nearest: 2001-02-28, index 212", "29"},
		"all_leap": {"2001-02-29", "nearest: 2001-02-28, index 212", "29"},
	} {
		b.view(s, "?file="+calendar+".nc&var=a&at=212,0,y,x")
		got := enter(0, want[0])
		require.Equal(t, want[1], got, calendar)
		b.until(`location.search.includes("at=%s,0,y,x")`, got[strings.LastIndex(got, " ")+1:])
		require.Contains(t, enter(0, "2001-02-31"), "expected a date of the calendar "+calendar)
		require.Contains(t, enter(0, "1850"), "2000-01-01, index 0")
		require.Contains(t, enter(0, "2999-12-30"), fmt.Sprintf("index %d", steps-1))
		// Choosing a year and a month gives the days of the calendar.
		days := eval[string](b, `(() => {
  const [year] = document.getElementById("goto-0").closest(".controls").querySelectorAll("input[type=number]");
  const [month, day] = document.getElementById("goto-0").closest(".controls").querySelectorAll("select");
  year.value = 2000;
  month.value = 2;
  month.dispatchEvent(new Event("change"));
  return String(day.options.length);
})()`)
		require.Equal(t, want[2], days, calendar)
		b.until(`said.textContent.startsWith("nearest: 2000-02-") || said.textContent.startsWith("2000-02-")`)
		b.clean()
	}
	b.do(chromedp.Click(chromedp.CSS(".goto summary")))
	b.until(`document.getElementById("goto-0").value !== ""`)
	b.shot("goto")
	require.Equal(t, "nearest: 500 hPa, index 1", enter(1, "600"))
	require.Contains(t, enter(1, "high"), "expected a number, found high")

	b.view(s, "?file=none.nc&var=a&at=0,0,y,x")
	require.Contains(t, enter(0, "2001-02-03"), "the calendar none has no dates")
	require.Equal(t, "nearest: 100 days since 2000-01-01, index 50", enter(0, "100.5"))
	b.clean()
}
