package storage

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"time"
)

// IsLocal reports whether an address or the name of a host is one of this machine. Names are looked up.
func IsLocal(host string) bool {
	host, _, _ = strings.Cut(host, "%")
	ips := []net.IP{net.ParseIP(host)}
	if ips[0] == nil {
		if name, _ := os.Hostname(); host == "localhost" || strings.EqualFold(host, name) {
			return true
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		var err error
		if ips, err = net.DefaultResolver.LookupIP(ctx, "ip", host); err != nil {
			return false
		}
	}
	list, err := net.InterfaceAddrs()
	if err != nil {
		list = nil
	}
	return slices.ContainsFunc(ips, func(ip net.IP) bool {
		return ip.IsLoopback() || ip.IsUnspecified() || slices.ContainsFunc(list, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.Equal(ip)
		})
	})
}
