package record

import (
	"encoding/binary"
	"errors"
	"math"

	"logstow/record/internal/civil"
)

// MinText is the minimum length of a record's text: its time, a level, a source and attributes of one byte each, four tabs and a newline.
const MinText = uint64(TimeLen) + 8

// TimeLen is the length of a record's time in text form.
const TimeLen = len("2026-11-20T15:04:05.123456789Z")

// secondLen is the length of a time up to the second, including the point behind it.
const secondLen = len("2026-11-20T15:04:05.")

const (
	nanosPerSecond = 1_000_000_000
	eightDigits    = 100_000_000
)

// ErrTime is the error of [ParseTime].
var ErrTime = errors.New("malformed time: want the form 2026-11-20T15:04:05.123456789Z, from 1677-09-21 to 2262-04-11")

// AppendTime appends a time in Unix nanoseconds as the 30 bytes
// 2026-11-20T15:04:05.123456789Z. Every int64 has this form.
func AppendTime(dst []byte, unixNano int64) []byte {
	var f TimeFormatter
	return f.AppendTime(dst, unixNano)
}

// TimeFormatter is [AppendTime] for consecutive times: it formats the date and the second
// only when they change. The zero value is ready to use. It is not safe for concurrent use.
type TimeFormatter struct {
	second, day int64
	text        [TimeLen]byte
}

// AppendTime appends what the function AppendTime appends.
func (f *TimeFormatter) AppendTime(dst []byte, unixNano int64) []byte {
	second, nano := unixNano/nanosPerSecond, unixNano%nanosPerSecond
	if nano < 0 {
		second, nano = second-1, nano+nanosPerSecond
	}
	if second != f.second || f.text[0] == 0 {
		f.setSecond(second)
	}
	dst = append(dst, f.text[:]...)
	// The digits are not written into f.text: copying bytes that were just written one by one stalls a processor.
	t := dst[len(dst)-TimeLen:]
	t[secondLen] = '0' + byte(nano/eightDigits)
	put8(t[secondLen+1:], uint64(nano%eightDigits))
	return dst
}

func (f *TimeFormatter) setSecond(second int64) {
	day, rest := second/civil.SecondsPerDay, second%civil.SecondsPerDay
	if rest < 0 {
		day, rest = day-1, rest+civil.SecondsPerDay
	}
	t := &f.text
	if day != f.day || t[0] == 0 {
		year, month, mday := civil.Date(day)
		copy(t[:], "0000-00-00T00:00:00.000000000Z")
		put2(t[0:], uint32(year)/100)
		put2(t[2:], uint32(year)%100)
		put2(t[5:], uint32(month))
		put2(t[8:], uint32(mday))
	}
	s := uint32(rest)
	put2(t[11:], s/3600)
	put2(t[14:], s/60%60)
	put2(t[17:], s%60)
	f.second, f.day = second, day
}

// put8 writes n, which is less than 100 million, as eight digits. It splits n into two numbers of four
// digits, these into four of two, and these into eight digits, all in one word: one multiplication and
// one shift divide all numbers of a step at once.
func put8(b []byte, n uint64) {
	n = n/10000 | n%10000<<32
	q := n * 10486 >> 20 & 0x7f_0000_007f // a hundredth
	n = q | (n-100*q)<<16
	q = n * 103 >> 10 & 0xf_000f_000f_000f // a tenth
	n = q | (n-10*q)<<8
	binary.LittleEndian.PutUint64(b, n|0x3030303030303030)
}

// put2 writes n, which is less than 100, as two digits.
func put2(b []byte, n uint32) {
	_ = b[1]
	b[0] = '0' + byte(n/10)
	b[1] = '0' + byte(n%10)
}

// ParseTime parses the output of [AppendTime] into Unix nanoseconds; for other
// texts the error is [ErrTime].
func ParseTime[T string | []byte](s T) (int64, error) {
	if len(s) != TimeLen || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' ||
		s[16] != ':' || s[19] != '.' || s[29] != 'Z' {
		return 0, ErrTime
	}
	century, year := two(s, 0), two(s, 2)
	month, day := two(s, 5), two(s, 8)
	hour, minute, second := two(s, 11), two(s, 14), two(s, 17)
	n0, n1, n2, n3, n4 := uint(s[20]-'0'), two(s, 21), two(s, 23), two(s, 25), two(s, 27)
	if century > 99 || year > 99 || hour > 23 || minute > 59 || second > 59 ||
		n0 > 9 || n1 > 99 || n2 > 99 || n3 > 99 || n4 > 99 ||
		!civil.Valid(int(century*100+year), int(month), int(day)) {
		return 0, ErrTime
	}
	unix := civil.Days(int(century*100+year), int(month), int(day))*civil.SecondsPerDay +
		int64(hour*3600+minute*60+second)
	nano := int64(n0)*100_000_000 + int64(n1*1_000_000+n2*10_000+n3*100+n4)
	// The first and the last second that int64 nanoseconds reach are not whole.
	if unix < minSecond || unix == minSecond && nano < minSecondNano ||
		unix > maxSecond || unix == maxSecond && nano > maxSecondNano {
		return 0, ErrTime
	}
	return unix*nanosPerSecond + nano, nil // may wrap and wrap back in the first second
}

const (
	minSecond     = math.MinInt64/nanosPerSecond - 1
	minSecondNano = math.MinInt64%nanosPerSecond + nanosPerSecond
	maxSecond     = math.MaxInt64 / nanosPerSecond
	maxSecondNano = math.MaxInt64 % nanosPerSecond
)

// two returns the number of the two digits at s[i], or more than 99 if they are not digits.
func two[T string | []byte](s T, i int) uint {
	high, low := uint(s[i]-'0'), uint(s[i+1]-'0')
	if high > 9 || low > 9 {
		return 100
	}
	return high*10 + low
}
