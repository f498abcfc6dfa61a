package store

// SetMaxLogged lets a log hold so many bytes of keys and values, about.
func (s *Bolt) SetMaxLogged(n int) { s.recent.max = n }
