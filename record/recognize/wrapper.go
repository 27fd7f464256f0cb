package recognize

import "bytes"

// WrapperEnd returns the length of what docker compose and kubectl write before each line of a container, "web-1  | " and
// "[pod/web-1/app] "; 0 if a line begins with neither.
func WrapperEnd(line []byte) int {
	const maxName, pod = 64, "[pod/"
	if bytes.HasPrefix(line, []byte(pod)) {
		end := bytes.IndexByte(line[:min(len(line), maxColumn)], ']')
		if end < 0 || end+1 == len(line) || line[end+1] != ' ' {
			return 0
		}
		return end + 2
	}
	if len(line) == 0 || line[0]-'a' >= 26 {
		return 0
	}
	i := 0
	for i < min(len(line), maxName) && (inSet(line[i], nameLow, nameHigh)) {
		i++
	}
	name := i
	for i < len(line) && line[i] == ' ' {
		i++
	}
	if i == name || i+1 >= len(line) || line[i] != '|' || line[i+1] != ' ' {
		return 0
	}
	return i + 2
}
