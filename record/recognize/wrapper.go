package recognize

import "bytes"

// WrapperEnd returns the length of what docker compose, kubectl and PyTorch write before each line of a container or process,
// "web-1  | ", "[pod/web-1/app] " and "[rank0]: "; 0 if a line begins with none.
func WrapperEnd(line []byte) int {
	const maxName, pod, rank = 64, "[pod/", "[rank"
	if bytes.HasPrefix(line, []byte(rank)) {
		end := digitsEnd(line, len(rank))
		if end == len(rank) || !bytes.HasPrefix(line[end:], []byte("]: ")) {
			return 0
		}
		return end + len("]: ")
	}
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
	for i < min(len(line), maxName) && inSet(line[i], nameLow, nameHigh) {
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
