#include "textflag.h"

// CONSTANT makes a constant of 16 equal bytes.
#define CONSTANT(name, bytes) \
	DATA name<>+0(SB)/8, $bytes \
	DATA name<>+8(SB)/8, $bytes \
	GLOBL name<>(SB), RODATA|NOPTR, $16

// Adding 0x80-c takes the range of bytes from c on to the least signed bytes, from -128 on.
CONSTANT(lower, 0x2020202020202020)         // sets the bit that letters in lower case have
CONSTANT(letters, 0x1f1f1f1f1f1f1f1f)       // 0x80-'a'
CONSTANT(behindLetters, 0x9a9a9a9a9a9a9a9a) // -128+26
CONSTANT(digits, 0x5050505050505050)        // 0x80-'0'
CONSTANT(behindDigits, 0x8a8a8a8a8a8a8a8a)  // -128+10
CONSTANT(underscore, 0x5f5f5f5f5f5f5f5f)

// RUNBYTES takes 16 bytes at SI to the 16 bits of their mask. The highest bit of each byte of text is set
// where it is at least 0x80; the comparisons set all bits where they hold.
#define RUNBYTES(offset, text, a, b, out) \
	MOVOU    offset(SI), text \
	MOVO     text, a          \
	POR      X8, a            \
	PADDB    X9, a            \
	MOVO     X10, b           \
	PCMPGTB  a, b             \
	MOVO     text, a          \
	PADDB    X11, a           \
	POR      text, b          \
	PCMPEQB  X13, text        \
	POR      text, b          \
	MOVO     X12, text        \
	PCMPGTB  a, text          \
	POR      text, b          \
	PMOVMSKB b, out

// func maskWords(m []uint64, text []byte)
TEXT ·maskWords(SB), NOSPLIT, $0-48
	MOVQ  m_base+0(FP), DI
	MOVQ  m_len+8(FP), CX
	MOVQ  text_base+24(FP), SI
	MOVOU lower<>(SB), X8
	MOVOU letters<>(SB), X9
	MOVOU behindLetters<>(SB), X10
	MOVOU digits<>(SB), X11
	MOVOU behindDigits<>(SB), X12
	MOVOU underscore<>(SB), X13
	TESTQ CX, CX
	JE    done

loop:
	RUNBYTES(0, X0, X1, X2, AX)
	RUNBYTES(16, X3, X4, X5, BX)
	RUNBYTES(32, X0, X1, X2, R8)
	RUNBYTES(48, X3, X4, X5, R9)
	SHLQ $16, BX
	SHLQ $32, R8
	SHLQ $48, R9
	ORQ  BX, AX
	ORQ  R9, R8
	ORQ  R8, AX
	MOVQ AX, (DI)
	ADDQ $64, SI
	ADDQ $8, DI
	DECQ CX
	JNE  loop

done:
	RET
