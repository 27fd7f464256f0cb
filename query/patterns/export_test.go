package patterns

import "logstow/record"

// TemplatesOf counts messages and returns the template of each.
func TemplatesOf(c *Counter, messages [][]byte) []string {
	var shapes []string
	for _, message := range messages {
		c.Add("web", record.Record{Message: message})
		shape, words := c.masker.shape(c.texts.text(message))
		if g := c.groups[groupKey(shape, words)]; g.columns != nil {
			shape = g.coarseShape(shape)
		}
		shapes = append(shapes, string(shape))
	}
	templates := map[string]string{}
	for _, d := range c.drafts() {
		last := d
		for last.into != nil {
			last = last.into
		}
		templates[d.shape] = last.text()
	}
	texts := make([]string, len(messages))
	for i, shape := range shapes {
		texts[i] = templates[shape]
	}
	return texts
}
