"""The worksheet in Korean. What the evidence fills in stays as the report words it, so that both can be searched for."""

from __future__ import annotations

from hangview.worksheet.layout import Language

KOREAN = Language(
    code="ko",
    title="장애 기록지",
    intro="*(출처: …)* 로 끝나는 줄은 증거에서 채운 것이다. `____` 는 아직 빈칸이다.",
    origin="출처: {}",
    sections={
        "versions": "실행 식별자 / PyTorch, 백엔드, 통신 라이브러리, 드라이버 버전",
        "conditions": "모델, 입력, 배치 정책 / 비교 실행과 달라진 조건",
        "groups": "그룹 식별자 / 기대한 랭크 / 랭크 → 장치 대응",
        "standing": "랭크별: 마지막 완료 / 다음 요청: 종류, 개수, dtype",
        "records": "요청, 시작, 완료를 구분하는 기록 / 없는 기록",
        "context": "통신 이전의 예외 / 시계와 수집 지연의 불확실성",
        "hypothesis": "현재 가설 / 반대 증거 / 다음 단일 비교 시험",
        "way_back": "되돌아갈 환경 / 보존한 체크포인트 / 복원 확인 결과",
    },
    labels={
        "run": "실행 식별자",
        "date": "실행 날짜",
        "evidence": "읽은 증거",
        "attempt": "시도",
        "torch": "PyTorch",
        "backend": "백엔드",
        "library": "통신 라이브러리",
        "schema": "덤프 스키마",
        "driver": "드라이버",
        "settings": "확인된 설정",
        "model": "모델",
        "input": "입력",
        "batch": "배치 정책",
        "compared": "비교 실행",
        "changed_count": "달라진 조건의 수",
        "changed": "달라진 조건",
        "expected": "기대한 랭크",
        "groups": "그룹",
        "hosts": "랭크 → 호스트",
        "devices": "랭크 → 장치",
        "standing": "마지막 완료 / 다음 요청",
        "states": "요청, 시작, 완료",
        "missing": "없는 기록",
        "exceptions": "통신 이전의 예외",
        "clocks": "시계 차이",
        "delay": "수집 지연",
        "hypothesis": "가설",
        "not_concluded": "결론지으면 안 되는 것",
        "against": "반대 증거",
        "doubt": "남은 의심의 위치",
        "next_test": "다음 단일 비교 시험",
        "environment": "되돌아갈 환경",
        "checkpoint": "보존한 체크포인트",
        "restore": "복원 확인",
        "transition": "PyTorch 2.15 새 백엔드에서 되돌아가기",
        "trials": "변경 전후의 세 가지 확인",
    },
    options={
        "changed_count": ("없음", "정확히 하나", "둘 이상: 하나만 바꾸어 다시 비교"),
        "doubt": ("프로세스 사이", "장치 또는 스트림", "네트워크", "기록 수집", "아직 모름"),
        "restore": ("복원하고 검증함", "복원했으나 검증하지 않음", "실패", "하지 않음"),
    },
    items={
        "transition": (
            (
                "그룹을 만들기 전에 모든 랭크에서 TORCH_DIST_USE_NCCL2=0 을 설정하거나 백엔드 nccl-legacy 를 지정한다: "
                "둘 다 2.15 에서만 이전 백엔드를 쓰게 한다"
            ),
            "거기서 성공해도 새 백엔드의 버그라는 증명은 아니다: 타이밍이 경쟁 상태를 가릴 수 있다",
            "2.14 로 돌아가는 것은 더 큰 단계다: 2.15 의 분산 체크포인트는 2.14 이하에서 읽히지 않는다",
            "이전 버전에서 복원을 검증한 체크포인트를 보존하고, 시험 출력은 다른 곳에 쓴다",
        ),
        "trials": (
            ("그룹이 의도한 장치에 만들어졌는가: 랭크 · 그룹 · 장치 대응, 초기화 완료; 아니면: 실행 배치와 그룹 생성 설정"),
            (
                "모든 참여자의 진행을 비교할 수 있는가: 기대한 랭크 대비 회수한 기록, 빈 곳마다 이유; "
                "아니면: 수집 경로, 프로세스 종료 기록"
            ),
            ("같은 학습이 끝나고 다시 시작되는가: 허용 오차, 체크포인트, 복원 결과; 아니면: 고정한 입력, 학습 설정, 저장 형식"),
        ),
    },
)
