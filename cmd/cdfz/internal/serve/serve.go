// Package serve is the verb serve: the original files of archives over HTTP. Package server does the work.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/serve/server"
)

// grace is the time that a stopped server has for the requests in flight. Package serve
// waits ten seconds for them.
const grace = 12 * time.Second

// flags are those of cdfz serve.
type flags struct {
	server.Options
	listen, auth, cert, key, base string
}

// Command makes cdfz serve.
func Command(run *cli.Run) *cobra.Command {
	var o flags
	cmd := &cobra.Command{
		Use:   "serve [flags] SRC",
		Short: "Show the original files of archives over HTTP",
		Long: `Serves SRC, a folder, an archive or another file, over HTTP. Every archive x.nc.cdfz
below SRC appears as /files/x.nc, with ranges, and as the OPeNDAP data set /dap/x.nc (DAP2).
The description x.ncml of joined files, which cdfz join makes, appears as x.nc, too. All
other files appear unchanged, except those whose names begin with a dot. New and
replaced archives appear at once. Open the address in a browser for maps, series and
downloads of parts.

The command runs until it is interrupted. It prints its address, and then a line for
each request (-q: none). A damaged block cuts off the answers that need it, and a message
appears here.

By default, only programs on this computer reach the server. Before --listen :8080 opens
it to others, consider --auth and --tls-cert, or a proxy in front of it. The server answers
to localhost, IP addresses, the host of --listen, the names in the certificate and those of
--host, and to no other name, so that pages of other sites cannot read it, except those of
--cors.`,
		Example: cli.Examples(
			"cdfz serve archives/ &                     # then: curl -O http://127.0.0.1:8080/files/tas.nc",
			"ncdump -h http://127.0.0.1:8080/dap/tas.nc # or CDO, NCO, Ferret, xarray",
			"cdfz serve --listen :8080 --host data.example.org archives/ # for other computers",
			"htpasswd -B -c users alice                 # a file for --auth",
			"cdfz serve --auth users --tls-cert c.pem --tls-key k.pem --listen :443 archives/"),
		Args: cli.ExactArgs(1, "SRC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (o.cert == "") != (o.key == "") {
				return errors.New("expected --tls-cert and --tls-key together")
			}
			for _, name := range o.Hosts {
				if !server.IsHost(name) {
					return fmt.Errorf("--host %s: expected a name without scheme, port and path", name)
				}
			}
			for _, origin := range o.Origins {
				if err := server.ParseOrigin(origin); err != nil {
					return fmt.Errorf("--cors: %w", err)
				}
			}
			if o.base != "" {
				base, err := parseBase(o.base)
				if err != nil {
					return err
				}
				o.Base, o.Hosts = base.String(), append(o.Hosts, base.Hostname())
			}
			if host, _, err := net.SplitHostPort(o.listen); err == nil && server.IsHost(host) {
				o.Hosts = append(o.Hosts, host)
			}
			stop.AllowTime(grace)
			o.Workers = run.Limits.Workers
			dir := fileio.SourceDir(args[0])
			o.Warn = func(name string, err error) {
				name = filepath.Join(dir, name)
				run.Term.Message("%s: %s", name, terminal.PlainText(err, name))
			}
			if !run.Term.Quiet {
				o.Log = &lines{out: run.Term.Out}
			}
			if name, err := serveUntil(cmd.Context(), run, args[0], &o); err != nil {
				var p *fs.PathError
				if errors.As(err, &p) {
					name, err = p.Path, p.Err
				}
				run.Term.Fail(name, err)
			}
			return nil
		},
	}
	cli.Flags(cmd, "Address and users", func(f *pflag.FlagSet) {
		f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`ADDRESS` and port to listen on;\nwithout an address, all addresses of this computer")
		f.StringArrayVar(&o.Hosts, "host", nil, "`NAME` in URLs that the server answers to; repeatable;\nit answers to localhost, IP addresses, and the names of --listen and --tls-cert, too")
		f.StringArrayVar(&o.Origins, "cors", nil, "`ORIGIN` whose pages may read archives, such as https://viewer.example,\nor * for all; repeatable; for viewers elsewhere (export --viewer)")
		f.StringVar(&o.base, "base-url", "", "`URL` of the server behind a proxy, for catalogues;\nwithout it, their addresses are relative; its host is added as --host does")
		f.StringVar(&o.auth, "auth", "", "`FILE` of the users who may read, with lines NAME:HASH of htpasswd -B;\nit is read again when it changes")
		f.StringVar(&o.cert, "tls-cert", "", "`FILE` with the certificates of HTTPS, as PEM")
		f.StringVar(&o.key, "tls-key", "", "`FILE` with the key of HTTPS, as PEM")
	})
	cli.Flags(cmd, "Limits", func(f *pflag.FlagSet) {
		f.Var(&cli.SizeFlag{N: &o.Cache, Min: 1 << 20, Max: 1 << 40}, "cache", "memory for decoded blocks of all files (default 256M)")
		f.Var(&cli.SizeFlag{N: &o.Bytes, Min: 1, Max: 1 << 60}, "max-bytes", "longest answer (default 16G)")
		f.DurationVar(&o.Time, "max-time", server.DefaultTime, "`DURATION` after which a request is cut off")
		f.IntVar(&o.Requests, "max-requests", server.DefaultRequests, "at most `N` requests are answered at the same time; others get status 503")
		f.IntVar(&o.Conns, "max-conns", server.DefaultConns, "at most `N` connections are open at the same time; others wait")
		cli.Rare(f, "max-requests", "max-conns")
	})
	return cmd
}

// parseBase reads --base-url. A slash at the end is added.
func parseBase(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !server.IsHost(u.Hostname()) || u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#") {
		return nil, fmt.Errorf("--base-url %s: expected a URL such as https://data.example.org/data/", terminal.ShowTarget(text))
	}
	return u.JoinPath("/"), nil
}

// serveUntil serves until ctx ends. The name is that of what an error is about.
func serveUntil(ctx context.Context, run *cli.Run, src string, o *flags) (name string, err error) {
	if o.auth != "" {
		users, err := server.OpenUserFile(o.auth, func(err error) { run.Term.Message("%s: %s", o.auth, terminal.PlainText(err, o.auth)) })
		if err != nil {
			return o.auth, err
		}
		o.Users = users.Users
	}
	var config *tls.Config
	scheme := "http"
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return o.cert, err
		}
		config, scheme = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, "https"
	}
	s, err := server.New(src, &o.Options)
	if err != nil {
		return src, err
	}
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return o.listen, err
	}
	if o.auth != "" && config == nil && !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		run.Term.Message("passwords travel unencrypted: use --tls-cert, or a proxy with TLS")
	}
	run.Term.Report("serving %s://%s/", scheme, l.Addr())
	return o.listen, s.Serve(ctx, l, config)
}

// lines prints the access log. It is safe for concurrent use.
type lines struct {
	mu  sync.Mutex
	out *terminal.Output
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}
