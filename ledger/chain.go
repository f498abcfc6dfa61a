package ledger

// chain is a hash chain of the log, and how far its checkpoint is.
type chain struct {
	last  mark   // the last event and its hash
	base  mark   // the first event that is kept, and the hash of the one before
	bytes uint64 // of the blocks that are in the store

	scopes  uint64 // how many were ever made by the owner: the number of the last one
	carried uint64 // bytes that the last checkpoint took

	next     mark   // as base, of the checkpoint under way; its number is 0 if there is none
	copied   uint64 // bytes that it has taken
	cursor   string // the key up to which it has carried
	trimming bool   // blocks before base are being deleted
}

// mark is a place in a chain.
type mark struct {
	number uint64
	hash   [32]byte
}

func (m *mark) append(b []byte) []byte { return append(appendUints(b, m.number), m.hash[:]...) }

func (m *mark) parse(p *parser) {
	m.number = p.uint()
	p.fill(m.hash[:])
}

func (c *chain) append(b []byte) []byte {
	b = c.next.append(c.base.append(c.last.append(b)))
	b = appendUints(b, c.bytes, c.scopes, c.carried, c.copied, bit(c.trimming, 0))
	return appendText(b, c.cursor)
}

func (c *chain) parse(p *parser) {
	c.last.parse(p)
	c.base.parse(p)
	c.next.parse(p)
	c.bytes, c.scopes, c.carried, c.copied = p.uint(), p.uint(), p.uint(), p.uint()
	c.trimming = p.uintTo(1) > 0
	c.cursor = p.text(1 << 10)
}
