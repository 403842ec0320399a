package filters

// The filters that archive chooses are registered in the same way as all others.
func init() {
	for _, m := range []Method{shuffleMethod, deflateMethod, zstdMethod, lorenzMethod} {
		if err := Register(m); err != nil {
			panic("internal error: " + err.Error())
		}
	}
}
