blas_info={'libraries': ['blas', 'blas']}
blas_opt_info={'define_macros': [('HAVE_CBLAS', None)], 'libraries': ['blas', 'blas']}
