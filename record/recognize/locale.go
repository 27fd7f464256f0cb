package recognize

import (
	"bytes"
	"encoding/binary"
	"time"
	"unicode"
	"unicode/utf8"

	"logstow/record"
)

// maxDate is how many bytes at the start of a line are searched for a date in another language than English.
const maxDate = 80

// translate appends to dst a line in which the date at the start is in English: 2026年11月20日 下午3:04:05 becomes 2026-11-20 3:04:05 PM,
// and 20-déc.-2026 becomes 20-Dec-2026. It returns nil if there is nothing to translate.
func translate(dst, line []byte) []byte {
	if len(line) < len("2.1.26 3:04") || line[0] == '{' || line[0] == '\t' {
		return nil
	}
	if text := translateMonth(dst, line); text != nil {
		return text
	}
	head := line[:min(len(line), maxDate)]
	if isASCII(head) ||
		!bytes.Contains(head, []byte("年")) && !bytes.Contains(head, []byte("년")) && !bytes.Contains(head, []byte("月")) && halfDayIn(head) == "" {
		return nil
	}
	return translateUnits(dst, line)
}

func isASCII(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// translateMonth translates a line that begins with a date such as 20-déc.-2026 or déc. 20, 2026.
func translateMonth(dst, line []byte) []byte {
	start := 0
	if line[0] == '[' {
		start = 1
	}
	i := digitsEnd(line[:start+2], start)
	dayFirst := i > start
	if dayFirst {
		if sep := line[i]; sep != '-' && sep != ' ' && sep != '.' {
			return nil
		}
		for i < start+4 && (line[i] == '-' || line[i] == ' ' || line[i] == '.') {
			i++
		}
	}
	end := i
	for end < len(line) && end < i+maxMonth && (line[end]|0x20-'a' < 26 || line[end] >= utf8.RuneSelf) {
		end++
	}
	word, next := line[i:end], end
	if next < len(line) && line[next] == '.' {
		next++
	}
	if len(word) < 3 || next+1 >= len(line) || line[next] != '-' && line[next] != ' ' || line[next+1]-'0' > 9 {
		return nil
	}
	if day := digitsEnd(line, next+1); !dayFirst && (day+1 >= len(line) || line[day] != ',') { // a year must follow
		return nil
	}
	month := foreignMonth(word)
	if month == "" {
		return nil
	}
	dst = append(dst, line[:i]...)
	if dayFirst && line[next] == ' ' && line[i-1] == ' ' && line[i-2] == '.' { // 20. Dez 2026
		dst = append(dst[:len(dst)-2], ' ')
	}
	return append(append(dst, month...), line[next:]...)
}

// maxMonth is the maximum length of the name of a month in bytes.
const maxMonth = 20

// foreignMonth returns the English abbreviation of the name of a month, or of its abbreviation, in German, French, Spanish, Italian,
// Portuguese, Dutch, Swedish, Polish, Russian, Turkish or English; "" if it is none.
func foreignMonth(word []byte) string {
	var space [16]byte
	start := space[:0] // three letters in lower case
	i := 0
	for range 3 {
		r, n := utf8.DecodeRune(word[i:])
		start, i = utf8.AppendRune(start, unicode.ToLower(r)), i+n
	}
	switch string(start) {
	case "jan", "ene", "gen", "sty", "янв", "oca":
		return "Jan"
	case "feb", "fev", "fév", "lut", "фев", "şub":
		return "Feb"
	case "mar", "mär", "mrz", "mrt", "мар":
		return "Mar"
	case "apr", "avr", "abr", "kwi", "апр", "nis":
		return "Apr"
	case "may", "mai", "mei", "mag", "maj", "мая", "май":
		return "May"
	case "jun", "giu", "cze", "июн", "haz":
		return "Jun"
	case "jul", "lug", "lip", "июл", "tem":
		return "Jul"
	case "jui": // juin and juillet
		if i < len(word) && word[i] == 'n' {
			return "Jun"
		}
		return "Jul"
	case "aug", "ago", "aoû", "sie", "авг", "ağu":
		return "Aug"
	case "sep", "set", "wrz", "сен", "eyl":
		return "Sep"
	case "oct", "okt", "ott", "out", "paź", "окт", "eki":
		return "Oct"
	case "nov", "lis", "ноя", "kas":
		return "Nov"
	case "dec", "déc", "dez", "dic", "gru", "дек", "ara":
		return "Dec"
	}
	return ""
}

// unitMark returns what stands in English behind a number instead of the word with which a text begins, and the length of the word; 0 if
// the text begins with none.
func unitMark(text []byte) (mark byte, n int) {
	r, n := utf8.DecodeRune(text)
	switch r {
	case '年', '년', '月', '월':
		return '-', n
	case '日', '일', '号', '號':
		return ' ', n
	case '時', '时', '시', '点', '點', '分', '분':
		return ':', n
	case '秒', '초':
		return 0, n
	}
	return 0, 0
}

// halfDayIn returns AM or PM if a text has the word for it, otherwise "".
func halfDayIn(text []byte) string {
	for _, half := range [...]struct{ word, name string }{
		{"上午", "AM"}, {"午前", "AM"}, {"오전", "AM"}, {"下午", "PM"}, {"午後", "PM"}, {"오후", "PM"},
	} {
		if bytes.Contains(text, []byte(half.word)) {
			return half.name
		}
	}
	return ""
}

// weekdayEnd returns the length of the weekday with which a text begins, such as 星期五, （金）, 金曜日 and 금요일, and of the blank behind it; 0
// if it begins with none.
func weekdayEnd(text []byte) int {
	i := 0
	for i < len(text) {
		r, n := utf8.DecodeRune(text[i:])
		if !bytes.ContainsRune([]byte("()（）星期周週曜日요一二三四五六月火水木金土월화수목금토일"), r) {
			break
		}
		i += n
	}
	if i > 0 && i < len(text) && text[i] == ' ' {
		i++
	}
	return i
}

// translateUnits translates a date in Chinese, Japanese or Korean, or with such words for AM and PM.
func translateUnits(dst, line []byte) []byte {
	head := line[:min(len(line), maxDate)]
	start := len(dst)
	half, year, clock := "", false, false
	i := 0
	for i < len(head) {
		c, digit := head[i], len(dst) > start && isDigit(dst[len(dst)-1])
		if clock && half != "" && !isDigit(c) && c != ':' && c < utf8.RuneSelf && (i+1 == len(head) || !isDigit(head[i+1])) {
			dst = append(append(dst, ' '), half...)
			break
		}
		if c < utf8.RuneSelf {
			if c != '(' || weekdayEnd(head[i:]) < len("(金)") {
				clock = clock || c == ':' && digit
				dst = append(dst, c)
				i++
				continue
			}
		}
		mark, n := unitMark(head[i:])
		switch {
		case digit && n > 0:
			i += n
			if mark == '-' && !year && !isYear(dst[start:]) {
				dst = nameMonth(dst)
				break
			}
			year, clock = year || mark == '-', clock || mark == ':'
			rest := bytes.TrimLeft(head[i:], " ")
			if mark == ' ' || mark != 0 && len(rest) > 0 && isDigit(rest[0]) {
				dst = append(dst, mark)
				i = len(head) - len(rest)
			}
		case len(head) >= i+len("下午") && halfDayIn(head[i:i+len("下午")]) != "":
			half = halfDayIn(head[i : i+len("下午")])
			i += len("下午")
			if clock { // behind the time
				dst = append(dst, half...)
				return append(dst, line[i:]...)
			}
			for i < len(head) && head[i] == ' ' {
				i++
			}
		case weekdayEnd(head[i:]) > 0:
			i += weekdayEnd(head[i:])
		default: // behind the date
			return append(dst, line[i:]...)
		}
	}
	return append(dst, line[i:]...)
}

// localLevel returns the level for its name in the language of the system, as java.util.logging and PostgreSQL write it.
func localLevel(word []byte) record.Level {
	switch string(word) {
	case "SCHWERWIEGEND", "GRAVE", "重大", "严重", "嚴重", "심각":
		return record.Error
	case "AVVERTENZA", "ADVERTÊNCIA", "AVERTISSEMENT", "UYARI", "경고":
		return record.Warn
	case "INFOS", "INFORMACIÓN", "INFORMAÇÕES", "INFORMAZIONI", "資訊", "정보":
		return record.Info
	case "KONFIGURATION", "FEIN", "構成", "配置", "구성": //nolint:misspell // German
		return record.Debug
	}
	_, level := PostgresWord(word)
	return level
}

// localLevelAt returns the level for such a name at b[i], and the end of the name. It stands before a blank, a colon or a bracket.
func localLevelAt(b []byte, i int) (record.Level, int) {
	const longest = len("ПРЕДУПРЕЖДЕНИЕ")
	end := i
	for end < len(b) && end < i+longest && (b[end]|0x20-'a' < 26 || b[end] >= utf8.RuneSelf) {
		end++
	}
	if end == len(b) || b[end] != ' ' && b[end] != ':' && b[end] != ']' {
		return record.None, i
	}
	return localLevel(b[i:end]), end
}

// IsJavaLevel reports whether a line begins with a level of java.util.logging, in the language of the system, and a colon.
func IsJavaLevel(line []byte) bool {
	end := bytes.IndexByte(line[:min(len(line), maxMonth+len("ПРЕДУПРЕЖДЕНИЕ"))], ':')
	if end <= 0 {
		return false
	}
	switch string(line[:end]) {
	case "SEVERE", "WARNING", "INFO", "CONFIG", "FINE", "FINER", "FINEST", "INFORMATION":
		return true
	}
	return localLevel(line[:end]) != record.None
}

// isYear reports whether a text ends in a number of four digits.
func isYear(text []byte) bool {
	n := len(text) - len("2026")
	return n >= 0 && digitsEnd(text, n) == len(text)
}

// nameMonth replaces the number of a month at the end of a text by its name.
func nameMonth(text []byte) []byte {
	i := len(text)
	for i > 0 && isDigit(text[i-1]) {
		i--
	}
	if len(text)-i > 2 || number(text[i:]) == 0 || number(text[i:]) > 12 {
		return text
	}
	return append(text[:i], time.Month(number(text[i:])).String()[:3]...)
}
