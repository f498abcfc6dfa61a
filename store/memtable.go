package store

import (
	"bytes"
	"math/rand/v2"
)

// maxLevel is enough for the 4^12 keys of a memtable that is never that large.
const maxLevel = 12

// memtable is a sorted map in memory from keys to values, an empty value being a
// deletion: a skip list (Pugh 1990), with a quarter of the nodes on each next level.
// Whoever changes it excludes all others.
type memtable struct {
	head node
	size int // bytes of keys and values
}

type node struct {
	key, value []byte
	next       []*node // on each level
}

func newMemtable() *memtable { return &memtable{head: node{next: make([]*node, maxLevel)}} }

// seek returns the first node whose key is at least key, or nil; and, in before, the
// last node of each level with a smaller key.
func (m *memtable) seek(key []byte, before *[maxLevel]*node) *node {
	at := &m.head
	for level := maxLevel - 1; level >= 0; level-- {
		for next := at.next[level]; next != nil && bytes.Compare(next.key, key) < 0; next = at.next[level] {
			at = next
		}
		if before != nil {
			before[level] = at
		}
	}
	return at.next[0]
}

// get returns the value of key, and whether the table says anything of it.
func (m *memtable) get(key []byte) (value []byte, known bool) {
	n := m.seek(key, nil)
	if n == nil || !bytes.Equal(n.key, key) {
		return nil, false
	}
	return n.value, true
}

// put sets the value of key. It keeps both.
func (m *memtable) put(key, value []byte) {
	var before [maxLevel]*node
	n := m.seek(key, &before)
	if n != nil && bytes.Equal(n.key, key) {
		m.size += len(value) - len(n.value)
		n.value = value
		return
	}
	levels := 1
	for levels < maxLevel && rand.Uint32()%4 == 0 {
		levels++
	}
	n = &node{key: key, value: value, next: make([]*node, levels)}
	for level := range levels {
		n.next[level], before[level].next[level] = before[level].next[level], n
	}
	m.size += len(key) + len(value)
}

// first returns the node with the lowest key, or nil.
func (m *memtable) first() *node { return m.head.next[0] }

// after returns the node behind n, or nil.
func (n *node) after() *node { return n.next[0] }
